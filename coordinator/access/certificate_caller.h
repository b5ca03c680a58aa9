// Identifies the caller that a certificate names. Pure.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "coordinator/access/credential_table.h"

namespace accel::coordinator {

// Returns the caller of a connection. `certificate` is its certificate in PEM, which the cluster's
// CA has signed, and `uris` are the URIs in it. There must be exactly one, which ends in
// /user/NAME/SERIAL or /node/NODE_ID/SERIAL. The caller is looked up in the table by SERIAL, and
// the kind and the name must be those in the table.
//
// UNAUTHENTICATED: the URIs do not have this form, or name another caller than the table. Other
// errors are those of CredentialTable::Find().
absl::StatusOr<Caller> CallerOfCertificate(const std::vector<std::string>& uris,
                                           absl::string_view certificate,
                                           const CredentialTable& table);

}  // namespace accel::coordinator
