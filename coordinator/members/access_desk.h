// The work of the calls of service Access, without gRPC. Each call checks its request, runs on the
// coordinator's loop, and answers once the change is committed.
#pragma once

#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordinator/members/coordinator_slot.h"
#include "coordinator/members/present_authority.h"
#include "proto/access.pb.h"

namespace accel::coordinator {

// Thread-safe. No call blocks once the slot is set. Errors are those of proto/access.proto.
class AccessDesk {
 public:
  template <typename Response>
  using Done = absl::AnyInvocable<void(absl::StatusOr<Response>)>;

  // The arguments must outlive this object.
  AccessDesk(const CoordinatorSlot* slot, const PresentAuthority* authority)
      : slot_(*slot), authority_(*authority) {}

  void AddToken(v1::AddTokenRequest request, Done<v1::AddTokenResponse> done);
  void ListMembers(const v1::ListMembersRequest& request, Done<v1::ListMembersResponse> done);
  void Revoke(v1::RevokeRequest request, Done<v1::RevokeResponse> done);
  void RemoveMember(v1::RemoveMemberRequest request, Done<v1::RemoveMemberResponse> done);
  // Renews the caller's certificate, whose serial is `serial`. It is empty over the Unix socket.
  void Renew(const std::string& serial, const v1::RenewRequest& request,
             Done<v1::RenewResponse> done);
  // Notes that a certificate is in use. StoredCredentials::Callbacks::on_seen calls this.
  void NoteSeen(const std::string& serial);

 private:
  // Runs `act` on the loop. `act` fills in the response. Calls `done` with it once the changes are
  // committed, or with the error.
  template <typename Response, typename Act>
  void Run(Act act, Done<Response> done);

  const CoordinatorSlot& slot_;
  const PresentAuthority& authority_;
};

// Returns the HOST:PORT that newcomers dial to reach a coordinator that listens on `listen`. A
// wildcard address is replaced by the name of this host, because no newcomer can dial it. Empty if
// `listen` is empty.
std::string AddressForNewcomers(const std::string& listen);

}  // namespace accel::coordinator
