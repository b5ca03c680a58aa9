// The gRPC service Access. Each method authenticates the caller, compares its role with what the
// method needs, checks the size and form of the request, and passes it to the desk.
#pragma once

#include <grpcpp/server_context.h>

#include <functional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "coordinator/access/caller.h"
#include "coordinator/members/access_desk.h"
#include "coordinator/members/coordinator_slot.h"
#include "proto/access.grpc.pb.h"

namespace accel::coordinator {

// With raw bytes instead of messages, for the reason in coordinator/service.h.
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
  // Returns who makes a call: ServerOptions::identify.
  using Identify = std::function<absl::StatusOr<Caller>(const grpc::ServerContextBase&)>;

  // `desk` and `slot` must outlive the service.
  AccessService(AccessDesk* desk, const CoordinatorSlot* slot, std::string cluster_id,
                Identify identify)
      : desk_(*desk),
        slot_(*slot),
        cluster_id_(std::move(cluster_id)),
        identify_(std::move(identify)) {}

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
  enum class Needs { kAdministrator, kAnyone };

  // Admits the call and parses its request. Then calls `invoke` with the caller, the request and a
  // function that sends the response or the error.
  template <typename Request, typename Response, typename Invoke>
  grpc::ServerUnaryReactor* Serve(Needs needs, grpc::CallbackServerContext* context,
                                  const grpc::ByteBuffer* bytes, grpc::ByteBuffer* answer,
                                  Invoke invoke);
  absl::StatusOr<Caller> Admit(Needs needs, const grpc::CallbackServerContext& context);

  AccessDesk& desk_;
  const CoordinatorSlot& slot_;
  const std::string cluster_id_;
  const Identify identify_;
};

}  // namespace accel::coordinator
