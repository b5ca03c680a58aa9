// The gRPC service Access. Each method admits the caller, checks the size and form of the request,
// and passes both to the desk.
#pragma once

#include <grpcpp/server_context.h>

#include <string>
#include <utility>

#include "coordinator/access/access_table.h"
#include "coordinator/members/access_desk.h"
#include "coordinator/members/coordinator_slot.h"
#include "proto/access.grpc.pb.h"

namespace accel::coordinator {

// The service with raw bytes instead of messages. coordinator/service.h gives the reason.
// clang-format off
using AccessServiceOfBytes =
    v1::Access::WithRawCallbackMethod_AddToken<
    v1::Access::WithRawCallbackMethod_ListMembers<
    v1::Access::WithRawCallbackMethod_Revoke<
    v1::Access::WithRawCallbackMethod_RemoveMember<
    v1::Access::WithRawCallbackMethod_WhoAmI<
    v1::Access::WithRawCallbackMethod_Renew<
    v1::Access::Service>>>>>>;
// clang-format on

// Thread-safe.
class AccessService final : public AccessServiceOfBytes {
 public:
  // `desk` and `slot` must outlive the service.
  AccessService(AccessDesk* desk, const CoordinatorSlot* slot, std::string cluster_id)
      : desk_(*desk), slot_(*slot), cluster_id_(std::move(cluster_id)) {}

  grpc::ServerUnaryReactor* AddToken(grpc::CallbackServerContext* context,
                                     const grpc::ByteBuffer* bytes,
                                     grpc::ByteBuffer* answer) override;
  grpc::ServerUnaryReactor* ListMembers(grpc::CallbackServerContext* context,
                                        const grpc::ByteBuffer* bytes,
                                        grpc::ByteBuffer* answer) override;
  grpc::ServerUnaryReactor* Revoke(grpc::CallbackServerContext* context,
                                   const grpc::ByteBuffer* bytes,
                                   grpc::ByteBuffer* answer) override;
  grpc::ServerUnaryReactor* RemoveMember(grpc::CallbackServerContext* context,
                                         const grpc::ByteBuffer* bytes,
                                         grpc::ByteBuffer* answer) override;
  grpc::ServerUnaryReactor* WhoAmI(grpc::CallbackServerContext* context,
                                   const grpc::ByteBuffer* bytes,
                                   grpc::ByteBuffer* answer) override;
  grpc::ServerUnaryReactor* Renew(grpc::CallbackServerContext* context,
                                  const grpc::ByteBuffer* bytes, grpc::ByteBuffer* answer) override;

 private:
  // Admits the call and parses its request. Then calls `invoke` with the caller, the request and a
  // function that sends the response or the error. That function also notes the change in
  // the audit log.
  template <typename Request, typename Response, typename Invoke>
  grpc::ServerUnaryReactor* Serve(Method method, grpc::CallbackServerContext* context,
                                  const grpc::ByteBuffer* bytes, grpc::ByteBuffer* answer,
                                  Invoke invoke);

  AccessDesk& desk_;
  const CoordinatorSlot& slot_;
  const std::string cluster_id_;
};

}  // namespace accel::coordinator
