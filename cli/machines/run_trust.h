// The certificates of one launch over several machines. All machines derive the same authority from
// the secret that they have in common and from the words that name the launch. Each one issues its
// own certificate with it. So a machine with another secret, or of another launch, fails the
// ordinary verification of TLS, and no secret is sent (docs/decisions/0058).
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/config/core/meeting_place.h"
#include "security/client_identity.h"
#include "security/derived_ca.h"
#include "security/server_tls.h"

namespace accel::cli {

// Returns the authority of the launch at `place`. INTERNAL: OpenSSL failed.
absl::StatusOr<security::Authority> AuthorityOf(const MeetingPlace& place,
                                                const std::string& secret);

// Returns what the machine that serves shows. INTERNAL: OpenSSL failed.
absl::StatusOr<security::ServerTls> MakeServerTls(const security::Authority& authority,
                                                  absl::Time now);

// Returns what the other machines show. `node_id` is the id of the machine's agent. INTERNAL:
// OpenSSL failed.
absl::StatusOr<security::ClientIdentity> MakeClientIdentity(const security::Authority& authority,
                                                            const std::string& node_id,
                                                            absl::Time now);

}  // namespace accel::cli
