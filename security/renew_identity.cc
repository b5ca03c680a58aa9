#include "security/renew_identity.h"

#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/status_macros.h"
#include "security/certificate.h"
#include "security/key.h"
#include "security/principal.h"
#include "security/signing_request.h"

namespace accel::security {
namespace {

absl::Status Unusable(absl::string_view why) {
  return absl::FailedPreconditionError(
      absl::StrCat("the coordinator's answer to a renewal is unusable: ", why));
}

// Returns the certificate of the answer if it continues `old`.
absl::StatusOr<Certificate> CheckAnswer(const ClientIdentity& old, const PrivateKey& key,
                                        const RenewedCertificate& answer) {
  ACCEL_ASSIGN_OR_RETURN(const Certificate before, Certificate::FromPem(old.certificate));
  ACCEL_ASSIGN_OR_RETURN(const Certificate renewed, Certificate::FromPem(answer.certificate));
  ACCEL_ASSIGN_OR_RETURN(const Principal was, before.principal());
  ACCEL_ASSIGN_OR_RETURN(const Principal is, renewed.principal());
  if (std::tie(was.cluster, was.kind, was.name) != std::tie(is.cluster, is.kind, is.name)) {
    return absl::FailedPreconditionError("it is for another member");
  }
  if (renewed.not_after() <= before.not_after()) {
    return absl::FailedPreconditionError("it does not live longer than the present one");
  }
  // Checked at a time within its life, because this machine's clock may be wrong, and the answer
  // may be the only certificate that the coordinator still accepts.
  ACCEL_RETURN_IF_ERROR(CheckIdentity({key.ToPem(), answer.certificate, answer.authorities},
                                      "nothing has changed",
                                      renewed.not_after() - absl::Seconds(1)));
  return renewed;
}

}  // namespace

absl::StatusOr<ClientIdentity> RenewIdentity(const IdentityFiles& files, const ClientIdentity& old,
                                             AskForCertificate ask) {
  ACCEL_ASSIGN_OR_RETURN(const PrivateKey key, files.ReadOrMakeNextKey(old));
  ACCEL_ASSIGN_OR_RETURN(const std::string csr, MakeRequest(key));
  ACCEL_ASSIGN_OR_RETURN(const RenewedCertificate answer, ask(csr));
  const absl::StatusOr<Certificate> certificate = CheckAnswer(old, key, answer);
  if (!certificate.ok()) {
    // The coordinator repeats its answer for the same key, so the next attempt needs another one.
    files.DropNextKey();
    return Unusable(certificate.status().message());
  }
  ClientIdentity renewed = {key.ToPem(), certificate->ToPem(), answer.authorities};
  ACCEL_RETURN_IF_ERROR(files.Replace(old, renewed));
  return renewed;
}

}  // namespace accel::security
