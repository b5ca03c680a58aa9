// The gRPC service Access. Each method admits the caller, checks the size and form of the request,
// and passes both to the desk.
#pragma once

#include <string>
#include <utility>

#include "coordinator/access/access_table.h"
#include "coordinator/calls/handler.h"
#include "coordinator/members/access_desk.h"
#include "coordinator/members/coordinator_slot.h"

namespace accel::coordinator {

// Thread-safe.
class AccessService {
 public:
  // `desk` and `slot` must outlive the service.
  AccessService(AccessDesk* desk, const CoordinatorSlot* slot, std::string cluster_id)
      : desk_(*desk), slot_(*slot), cluster_id_(std::move(cluster_id)) {}

  // Adds the handlers of its methods, which use the service.
  void AddTo(Handlers* handlers);

 private:
  void AddToken(ServerCall* call);
  void ListMembers(ServerCall* call);
  void Revoke(ServerCall* call);
  void RemoveMember(ServerCall* call);
  void WhoAmI(ServerCall* call);
  void Renew(ServerCall* call);
  // Admits the call and parses its request. Then calls `invoke` with the caller, the request and a
  // function that sends the response or the error. That function also notes the change in
  // the audit log.
  template <typename Request, typename Response, typename Invoke>
  void Serve(Method method, ServerCall* call, Invoke invoke);

  AccessDesk& desk_;
  const CoordinatorSlot& slot_;
  const std::string cluster_id_;
};

}  // namespace accel::coordinator
