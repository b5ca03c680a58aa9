// What happens to credentials after they were issued: they are used, renewed and revoked. Pure,
// like admission.h.
#pragma once

#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "coordinator/core/access/access_state.h"
#include "coordinator/core/access/make_credential.h"

namespace accel::coordinator {

// Issues another credential to the holder of a valid one. The same key gets the same answer until
// it is used. UNAUTHENTICATED: the serial is not valid. RESOURCE_EXHAUSTED: it was renewed with
// four other keys, and none of these renewals was used.
absl::StatusOr<v1::Credential> Renew(const std::string& serial, const std::string& key_hash,
                                     absl::Time wall, MakeCredential make, AccessState* state,
                                     AccessChanges* changes);

// Notes that a credential is in use. With its first use, the one that it replaces, directly or not,
// is no longer valid, nor are other renewals of that one. Changes nothing if it was seen within the
// last hour, or is not valid.
void NoteSeen(const std::string& serial, absl::Time wall, AccessState* state,
              AccessChanges* changes);

// Revokes credentials and keys. A revoked credential ends the key by which it came, because a
// thief of the machine may have the key too. It works for the last administrator too, because the
// Unix socket remains. Errors of both: see proto/access.proto.
absl::StatusOr<v1::RevokeResponse> Revoke(const v1::RevokeRequest& request, absl::Time wall,
                                          AccessState* state, AccessChanges* changes);
absl::Status RemoveMember(v1::MemberKind kind, const std::string& member, absl::Time wall,
                          AccessState* state, AccessChanges* changes);

// Returns the ids of nodes that these changes have shut out: they were removed, or their last valid
// credential was revoked.
std::set<std::string> LostNodes(const AccessState& state, const AccessChanges& changes,
                                absl::Time wall);

// Returns why the holder of this credential is refused. Empty if it may enter.
std::string WhyRefused(const v1::Credential& credential, absl::Time wall);

}  // namespace accel::coordinator
