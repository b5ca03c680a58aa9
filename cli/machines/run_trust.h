// The certificates of one launch over several machines. All machines derive the same authority from
// their common secret and from the words that name the launch. Each machine issues its own
// certificate with this authority. The usual verification of TLS therefore refuses a machine with
// another secret, or of another launch. No secret is sent (docs/decisions/0058).
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

// Returns the key and certificates that the serving machine presents. INTERNAL: OpenSSL failed.
absl::StatusOr<security::ServerTls> MakeServerTls(const security::Authority& authority,
                                                  absl::Time now);

// Returns the identity that another machine presents. `node_id` is the id of the machine's agent.
// INTERNAL: OpenSSL failed.
absl::StatusOr<security::ClientIdentity> MakeClientIdentity(const security::Authority& authority,
                                                            const std::string& node_id,
                                                            absl::Time now);

}  // namespace accel::cli
