// What the calls of service Access do, without gRPC: each checks its request, takes a turn of the
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

// Thread-safe. No call blocks. Errors are those of proto/access.proto.
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
  // `serial` is that of the caller's certificate.
  void Renew(const std::string& serial, const v1::RenewRequest& request,
             Done<v1::RenewResponse> done);
  // Notes that a certificate is in use: StoredCredentials::Callbacks::on_seen.
  void NoteSeen(const std::string& serial);

 private:
  // Runs `act`, which fills in the response, and calls `done` once its changes are committed.
  template <typename Response, typename Act>
  void Run(Act act, Done<Response> done);

  const CoordinatorSlot& slot_;
  const PresentAuthority& authority_;
};

// Returns the HOST:PORT for newcomers of a coordinator that listens on `listen`: the name of this
// host instead of a wildcard, which no newcomer can dial.
std::string AddressForNewcomers(const std::string& listen);

}  // namespace accel::coordinator
