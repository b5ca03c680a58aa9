// Renews the identity of a client: makes a key and a request, checks the answer and stores it. The
// caller sends the request to the coordinator. renewal_time.h decides when.
#pragma once

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "security/client_identity.h"
#include "security/identity_files.h"

namespace accel::security {

// The coordinator's answer. Both texts are PEM.
struct RenewedCertificate {
  std::string certificate;
  std::string authorities;
};

// Sends a request (signing_request.h) to the coordinator, over a connection with
// the old certificate.
using AskForCertificate =
    absl::FunctionRef<absl::StatusOr<RenewedCertificate>(const std::string& csr)>;

// Returns the new identity after storing it in the files. `now` is this machine's time. If the
// answer is lost, the next attempt gets the same answer. After an error of `ask` or
// FAILED_PRECONDITION, the files still have the old identity. FAILED_PRECONDITION has two causes.
// If the answer is unusable, the next attempt uses another key. If its certificate is not valid
// yet, the next attempt gets the same one. Other errors are those of `ask`, and of
// IdentityFiles::ReadOrMakeNextKey() and Replace().
absl::StatusOr<ClientIdentity> RenewIdentity(const IdentityFiles& files, const ClientIdentity& old,
                                             absl::Time now, AskForCertificate ask);

// Returns true if both certificates, in PEM, belong to the same member of the same cluster.
bool AreOfSameMember(const std::string& one, const std::string& other);

// Returns true if `newer` may replace `old`. Both must belong to the same member, and `newer` must
// expire later or come from the authority that replaces that of `old`. In a rotation the times of
// expiry do not count, because the coordinator's clock may have been ahead when it issued `old`.
// Returns false if a certificate cannot be read.
bool Continues(const ClientIdentity& newer, const ClientIdentity& old);

}  // namespace accel::security
