// Admits members to the cluster: makes and spends one-time keys. Pure: secrets arrive as hashes,
// the caller makes the certificates, and `wall` is the time of the wall clock.
//
// An error leaves the state unchanged, except that expired keys and invalid credentials may have
// been forgotten.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "coordinator/core/access/access_state.h"
#include "coordinator/core/access/make_credential.h"

namespace accel::coordinator {

inline constexpr size_t kMaxTokens = 1'000;
inline constexpr absl::Duration kMaxTokenLife = absl::Hours(24 * 365);
inline constexpr int64_t kMaxTokenUses = 100'000;

// Adds a key. If the key is for a user, also adds that user with `role` and `runs_as`, or changes
// the existing user (AddTokenRequest). Errors:
//
// * INVALID_ARGUMENT: a name, the kind, the role, the time or the number of uses is not allowed.
// * RESOURCE_EXHAUSTED: there are too many keys or members.
// * FAILED_PRECONDITION: the last administrator would lose the role.
absl::Status AddToken(const v1::AddTokenRequest& request, const std::string& id,
                      const std::string& secret_hash, absl::Time wall, AccessState* state,
                      AccessChanges* changes);

// A newcomer's request, already decoded and checked for its form.
struct Newcomer {
  v1::MemberKind kind = v1::NODE_MEMBER;
  std::string token_id;
  std::string secret_hash;
  std::string key_hash;
  std::string id;     // A node's id.
  std::string name;   // A node's name.
  std::string label;  // The label of the credential.
};

// Admits a newcomer who has a key: spends one use of the key, adds the node, and issues a
// credential. A repeated request with the same public key and token gets the same credential and
// spends no use. The answer to the first request may have been lost. Errors are those
// of `make` and:
//
// * UNAUTHENTICATED: the token is unknown, or its secret is wrong. Both have the same message.
// * PERMISSION_DENIED: the token has expired, is used up, or is for another kind or name.
// * INVALID_ARGUMENT: the node's id or name is not valid (security::CheckPrincipalName()).
// * ALREADY_EXISTS: another node has the name, or the node's own id has only other key pairs.
// * RESOURCE_EXHAUSTED: there are too many members, or the member has too many credentials.
absl::StatusOr<v1::Credential> Admit(const Newcomer& newcomer, absl::Time wall, MakeCredential make,
                                     AccessState* state, AccessChanges* changes);

}  // namespace accel::coordinator
