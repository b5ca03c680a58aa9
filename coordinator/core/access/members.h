// Looks things up in the access state, for admission.h and credentials.h.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "coordinator/core/access/access_state.h"

namespace accel::coordinator {

inline constexpr size_t kMaxMembers = 20'000;
// Valid ones. As many that are no longer valid are kept, so that their holders are told why.
inline constexpr size_t kMaxCredentialsOfMember = 64;

// Returns true if the credential is neither revoked, nor replaced, nor expired.
bool IsValid(const v1::Credential& credential, absl::Time wall);

std::vector<v1::Credential*> CredentialsOf(const MemberId& member, AccessState* state);

// Forgets the oldest of a member's credentials that are no longer valid, so that one more can be
// kept.
void ForgetOldest(const MemberId& member, absl::Time wall, AccessState* state,
                  AccessChanges* changes);

// Makes room for one more credential of a member. If it has the maximum of valid ones, the one that
// was used least recently makes room, of those from keys with many uses: the machines of such a key
// come and go, and a person's laptop must not be shut out by them. RESOURCE_EXHAUSTED: all came
// from keys with one use.
absl::Status MakeRoom(const MemberId& member, absl::Time wall, AccessState* state,
                      AccessChanges* changes);

// Returns a credential that was just made, with its owner.
v1::Credential Complete(v1::Credential made, const MemberId& member, const std::string& key_hash,
                        absl::Time wall);

// Returns true if this user is the only one with the role of an administrator.
bool IsLastAdministrator(const MemberId& member, const AccessState& state);
// Returns FAILED_PRECONDITION with a sentence about that.
absl::Status RefuseLastAdministrator(const std::string& name);

// Finds a user by name, or a node by id or name. NOT_FOUND.
absl::StatusOr<MemberId> FindMember(v1::MemberKind kind, const std::string& name,
                                    const AccessState& state);

}  // namespace accel::coordinator
