// Issues certificates: the authority of a cluster, and the leaves that it signs.
//
// clang-format off
//              life      basic constraints      key usage                 extended       name
//   authority  20 years  CA, pathlen 0 (crit.)  certSign (critical)       none           none
//   server     60 days   not a CA (critical)    digitalSignature (crit.)  serverAuth     DNS coordinator.accel.internal
//   node       1 year    not a CA (critical)    digitalSignature (crit.)  clientAuth     URI of the principal
//   user       90 days   not a CA (critical)    digitalSignature (crit.)  clientAuth     URI of the principal
// clang-format on
//
// A server cannot use a client's certificate and vice versa, because a client must not pass for the
// coordinator. Leaves begin an hour before they are issued, because clocks differ. Authorities
// begin in 1970, because a clock that is set back must not invalidate all leaves.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "security/certificate.h"
#include "security/key.h"
#include "security/principal.h"

namespace accel::security {

// The name in every server's certificate, by which clients verify the server. It is independent of
// the address, because a coordinator may move, be renamed, or be behind a NAT.
inline constexpr char kServerName[] = "coordinator.accel.internal";

inline constexpr absl::Duration kAuthorityLife = absl::Hours(24 * 365 * 20);
inline constexpr absl::Duration kServerLife = absl::Hours(24 * 60);
inline constexpr absl::Duration kNodeLife = absl::Hours(24 * 365);
inline constexpr absl::Duration kUserLife = absl::Hours(24 * 90);
inline constexpr absl::Duration kBackdate = absl::Hours(1);

// Thread-safe. Copies share the key.
struct Authority {
  PrivateKey key;
  Certificate certificate;
};

// Returns a random serial number of 128 bits, as text for Principal::serial. INTERNAL: the kernel
// gave no random bytes.
absl::StatusOr<std::string> MakeSerial();

// Makes the authority of a cluster: a new P-256 key and its certificate. INTERNAL: OpenSSL failed.
absl::StatusOr<Authority> MakeAuthority(absl::string_view cluster, absl::Time now);

// Issues the certificate of a server. Errors are those of MakeAuthority().
absl::StatusOr<Certificate> IssueServer(const Authority& authority, const PublicKey& key,
                                        absl::Time now);

// Issues the certificate of a node or a user. principal.serial becomes its serial number.
// `node_name`, if not empty, becomes Certificate::node_name(). Errors are those of MakeAuthority().
absl::StatusOr<Certificate> IssueClient(const Authority& authority, const PublicKey& key,
                                        const Principal& principal, absl::Time now,
                                        const std::string& node_name = "");

}  // namespace accel::security
