#include "security/renew_identity.h"

#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/status_macros.h"
#include "security/certificate.h"
#include "security/key.h"
#include "security/principal.h"
#include "security/rotation.h"
#include "security/signing_request.h"

namespace accel::security {
namespace {

absl::Status Unusable(absl::string_view why) {
  return absl::FailedPreconditionError(
      absl::StrCat("the coordinator's answer to a renewal is unusable: ", why));
}

std::string Minute(absl::Time time) {
  return absl::FormatTime("%Y-%m-%d %H:%M UTC", time, absl::UTCTimeZone());
}

// Returns the certificate of the answer if it may replace that of `old`, otherwise an error with
// the reason.
absl::StatusOr<Certificate> CheckAnswer(const ClientIdentity& old, const PrivateKey& key,
                                        const RenewedCertificate& answer) {
  ACCEL_ASSIGN_OR_RETURN(const Certificate renewed, Certificate::FromPem(answer.certificate));
  if (!AreOfSameMember(old.certificate, answer.certificate)) {
    return absl::FailedPreconditionError("it is for another member");
  }
  if (!Continues({"", answer.certificate, answer.authorities}, old)) {
    return absl::FailedPreconditionError("it does not live longer than the present one");
  }
  // Checked at a time within the certificate's life, because an answer that is only not valid yet
  // is usable later.
  ACCEL_RETURN_IF_ERROR(CheckIdentity({key.ToPem(), answer.certificate, answer.authorities},
                                      "nothing has changed",
                                      renewed.not_after() - absl::Seconds(1)));
  return renewed;
}

}  // namespace

bool AreOfSameMember(const std::string& one, const std::string& other) {
  const auto first = Certificate::FromPem(one);
  const auto second = Certificate::FromPem(other);
  if (!first.ok() || !second.ok()) return false;
  const auto a = first->principal();
  const auto b = second->principal();
  if (!a.ok() || !b.ok()) return false;
  return std::tie(a->cluster, a->kind, a->name) == std::tie(b->cluster, b->kind, b->name);
}

bool Continues(const ClientIdentity& newer, const ClientIdentity& old) {
  if (!AreOfSameMember(newer.certificate, old.certificate)) return false;
  if (IsOfFormer(newer.certificate, old.authorities)) return false;
  if (IsOfFirst(newer.certificate, newer.authorities) &&
      IsOfFormer(old.certificate, newer.authorities)) {
    return true;
  }
  return Certificate::FromPem(newer.certificate)->not_after() >
         Certificate::FromPem(old.certificate)->not_after();
}

absl::StatusOr<ClientIdentity> RenewIdentity(const IdentityFiles& files, const ClientIdentity& old,
                                             absl::Time now, AskForCertificate ask) {
  ACCEL_ASSIGN_OR_RETURN(const PrivateKey key, files.ReadOrMakeNextKey(old));
  ACCEL_ASSIGN_OR_RETURN(const std::string csr, MakeRequest(key));
  ACCEL_ASSIGN_OR_RETURN(const RenewedCertificate answer, ask(csr));
  const absl::StatusOr<Certificate> certificate = CheckAnswer(old, key, answer);
  if (!certificate.ok()) {
    // The coordinator repeats its answer for the same key, so the next attempt needs another key.
    files.DropNextKey();
    return Unusable(certificate.status().message());
  }
  // The clock of this machine or of the coordinator is wrong. The present certificate still works,
  // but the renewed one would not work yet.
  if (certificate->not_before() > now) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the renewed certificate starts at ", Minute(certificate->not_before()),
        ", but this machine's clock says ", Minute(now),
        "; set the clock of this machine or of the coordinator; the present one is kept"));
  }
  ClientIdentity renewed = {key.ToPem(), certificate->ToPem(), answer.authorities};
  ACCEL_RETURN_IF_ERROR(files.Replace(old, renewed));
  return renewed;
}

}  // namespace accel::security
