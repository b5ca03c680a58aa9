// Functions that admission.h and credentials.h share: they look up members and credentials, and
// make room for new credentials. Pure.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "coordinator/core/access/access_state.h"

namespace accel::coordinator {

inline constexpr size_t kMaxMembers = 20'000;
// Maximum number of valid credentials that Admit() gives to a member. Renewals are exempt: see
// Renew(). About as many invalid ones are kept, so that their holders are told the reason.
inline constexpr size_t kMaxCredentialsOfMember = 64;

// Returns true if the state of the credential is VALID and it has not expired.
bool IsValid(const v1::Credential& credential, absl::Time wall);

std::vector<v1::Credential*> CredentialsOf(const MemberId& member, AccessState* state);

// Forgets the oldest credentials of a member that are no longer valid, until there is room for one
// more of these.
void ForgetOldest(const MemberId& member, absl::Time wall, AccessState* state,
                  AccessChanges* changes);

// Makes room for one more valid credential of a member. If the member already has the maximum, one
// of them becomes MADE_ROOM: the least recently used one whose key had many uses. Credentials of
// such keys belong to machines that come and go, which must not shut out a laptop.
// RESOURCE_EXHAUSTED: all credentials came from keys with one use.
absl::Status MakeRoom(const MemberId& member, absl::Time wall, AccessState* state,
                      AccessChanges* changes);

// Returns `made`, a new certificate, with the fields that name its owner and the time.
v1::Credential Complete(v1::Credential made, const MemberId& member, const std::string& key_hash,
                        absl::Time wall);

// Returns true if this user is the only one with the role of an administrator.
bool IsLastAdministrator(const MemberId& member, const AccessState& state);
// Returns FAILED_PRECONDITION with the message that this user is the last administrator.
absl::Status RefuseLastAdministrator(const std::string& name);

// Finds a user by name, or a node by id or name. NOT_FOUND: the cluster has no such member.
absl::StatusOr<MemberId> FindMember(v1::MemberKind kind, const std::string& name,
                                    const AccessState& state);

}  // namespace accel::coordinator
