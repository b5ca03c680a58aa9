// The caller whom a certificate names. Pure.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "coordinator/access/credential_table.h"

namespace accel::coordinator {

// Returns the caller of a connection whose certificate (in PEM) the cluster's CA has signed and
// whose URIs these are. The certificate has exactly one: spiffe://CLUSTER/user/NAME/SERIAL, or
// node/NODE_ID in place of user/NAME. The table decides by the serial, and the kind and name must
// be those of the table. Errors are those of CredentialTable::Find(), and UNAUTHENTICATED for
// another certificate.
absl::StatusOr<Caller> CallerOfCertificate(const std::vector<std::string>& uris,
                                           absl::string_view certificate,
                                           const CredentialTable& table);

}  // namespace accel::coordinator
