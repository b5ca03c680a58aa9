// Renews the identity of a client: a new key, a request, the answer checked and stored. The caller
// brings the request to the coordinator. renewal_time.h says when.
#pragma once

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "security/client_identity.h"
#include "security/identity_files.h"

namespace accel::security {

// The coordinator's answer. Each is PEM.
struct RenewedCertificate {
  std::string certificate;
  std::string authorities;
};

// Sends a request (signing_request.h) to the coordinator, as the holder of the old certificate.
using AskForCertificate =
    absl::FunctionRef<absl::StatusOr<RenewedCertificate>(const std::string& csr)>;

// Returns the new identity, which is in the files then. `now` is this machine's time. After an
// error of the answer, the files have the old one. An attempt that is repeated after a lost answer
// gets the same answer. FAILED_PRECONDITION: the answer is unusable, and the next attempt begins
// with another key. Or it is not valid yet, and the next attempt gets it again. Others: those of
// `ask` and of IdentityFiles::Replace().
absl::StatusOr<ClientIdentity> RenewIdentity(const IdentityFiles& files, const ClientIdentity& old,
                                             absl::Time now, AskForCertificate ask);

// Returns true if both certificates, in PEM, are of the same member of the same cluster.
bool AreOfSameMember(const std::string& one, const std::string& other);

// Returns true if `newer` may replace `old`: it is of the same member, and lives longer or is of
// the authority that replaces that of `old`. In a rotation the end does not count, because the
// coordinator's clock may have been ahead when it issued `old`. Certificates that cannot be read
// are of no member.
bool Continues(const ClientIdentity& newer, const ClientIdentity& old);

}  // namespace accel::security
