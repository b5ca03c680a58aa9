// How members come into the cluster: one-time keys are made and spent. Pure: secrets arrive as
// hashes, certificates are made by the caller, and `wall` is the time that people read.
//
// After an error, nothing has changed, except that entries which were over may be gone.
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

// Adds a key, and the user that it is for, with `role` and `runs_as` if the user is new.
// INVALID_ARGUMENT: a name, the time or the uses are out of range. RESOURCE_EXHAUSTED: too many
// keys or members. FAILED_PRECONDITION: the role would be taken from the last administrator.
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

// Admits a newcomer who has a key: spends one use, adds the node, and issues a credential. The same
// public key with the same token gets the same credential again, without a use, because the answer
// may have been lost. Errors:
//
// * UNAUTHENTICATED: the token is unknown, or its secret is wrong; both with the same words.
// * PERMISSION_DENIED: the token has expired, is used up, or is for another kind or name.
// * INVALID_ARGUMENT: the node's id or name is none (security::CheckPrincipalName()).
// * ALREADY_EXISTS: the node's id or name belongs to another key pair.
// * RESOURCE_EXHAUSTED: there are too many members, or the member has too many credentials.
absl::StatusOr<v1::Credential> Admit(const Newcomer& newcomer, absl::Time wall, MakeCredential make,
                                     AccessState* state, AccessChanges* changes);

}  // namespace accel::coordinator
