// Uses, renews and revokes credentials that were issued before. Pure, like admission.h.
#pragma once

#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "coordinator/core/access/access_state.h"
#include "coordinator/core/access/make_credential.h"

namespace accel::coordinator {

// Issues another credential to the holder of a valid one. A repeated request with the same key gets
// the same credential until that one is used. UNAUTHENTICATED: the serial is unknown or no longer
// valid. RESOURCE_EXHAUSTED: the credential was renewed with four other keys, and none of these
// renewals was used. Other errors are those of `make`.
absl::StatusOr<v1::Credential> Renew(const std::string& serial, const std::string& key_hash,
                                     absl::Time wall, MakeCredential make, AccessState* state,
                                     AccessChanges* changes);

// Notes that a credential is in use. Its first use ends the credentials that it replaces, directly
// or through other renewals, and all unused renewals of those. Changes nothing if the credential is
// unknown, is not valid, or was seen within the last hour.
void NoteSeen(const std::string& serial, absl::Time wall, AccessState* state,
              AccessChanges* changes);

// Revokes credentials or a key. Revoking a credential also drops the key that it was issued for,
// because a thief of the machine may have the key too. Revoke() accepts the last administrator,
// because the owner can still use the Unix socket. RemoveMember() refuses the last administrator.
// The errors of both are in proto/access.proto.
absl::StatusOr<v1::RevokeResponse> Revoke(const v1::RevokeRequest& request, absl::Time wall,
                                          AccessState* state, AccessChanges* changes);
absl::Status RemoveMember(v1::MemberKind kind, const std::string& member, absl::Time wall,
                          AccessState* state, AccessChanges* changes);

// Returns the ids of nodes that these changes have shut out: nodes that were removed, and nodes
// whose last valid credential was revoked.
std::set<std::string> LostNodes(const AccessState& state, const AccessChanges& changes,
                                absl::Time wall);

// Returns why the holder of this credential is refused, or an empty string if it may enter.
std::string WhyRefused(const v1::Credential& credential, absl::Time wall);

}  // namespace accel::coordinator
