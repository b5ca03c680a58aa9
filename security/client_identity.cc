#include "security/client_identity.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "security/certificate.h"
#include "security/key.h"

namespace accel::security {
namespace {

std::string Minute(absl::Time time) {
  return absl::FormatTime("%Y-%m-%d %H:%M UTC", time, absl::UTCTimeZone());
}

absl::Status About(absl::string_view what, const absl::Status& status, absl::string_view remedy) {
  return absl::Status(status.code(), absl::StrCat(what, ": ", status.message(), "; ", remedy));
}

}  // namespace

absl::Status CheckIdentity(const ClientIdentity& identity, absl::string_view remedy,
                           absl::Time now) {
  const auto key = PrivateKey::FromPem(identity.key);
  if (!key.ok()) return About("this client's key", key.status(), remedy);
  const auto certificate = Certificate::FromPem(identity.certificate);
  if (!certificate.ok()) {
    return About("this client's certificate", certificate.status(), remedy);
  }
  const auto authorities = ReadCertificates(identity.authorities);
  if (!authorities.ok()) {
    return About("the cluster's certificate", authorities.status(), remedy);
  }
  if (certificate->public_key().ToDer() != key->public_key().ToDer()) {
    return absl::FailedPreconditionError(
        absl::StrCat("this client's certificate belongs to another key; ", remedy));
  }
  if (now < certificate->not_before()) {
    return absl::FailedPreconditionError(
        absl::StrCat("this machine's clock says ", Minute(now), ", but the certificate starts at ",
                     Minute(certificate->not_before()), "; set the clock"));
  }
  if (now > certificate->not_after()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "this client's certificate has expired at ", Minute(certificate->not_after()),
        ", and this machine's clock says ", Minute(now), "; set the clock, or ", remedy));
  }
  const absl::Status verified = Verify(*certificate, *authorities, Purpose::kClient, now);
  if (!verified.ok()) return About("this client's certificate", verified, remedy);
  return absl::OkStatus();
}

}  // namespace accel::security
