#include "security/rotation.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "security/sha256.h"

namespace accel::security {

std::string NameOfAuthorities(absl::string_view authorities) {
  return absl::BytesToHexString(Sha256(authorities));
}

bool IsIssuedBy(const Certificate& certificate, const Certificate& authority) {
  // Checked at a time within the certificate's life, because the result must not depend on whether
  // it has expired.
  return Verify(certificate, {authority}, Purpose::kClient,
                certificate.not_after() - absl::Seconds(1))
      .ok();
}

bool IsOfFirst(absl::string_view certificate, absl::string_view authorities) {
  const auto leaf = Certificate::FromPem(certificate);
  const auto first = Certificate::FromPem(authorities);
  return leaf.ok() && first.ok() && IsIssuedBy(*leaf, *first);
}

bool IsOfFormer(absl::string_view certificate, absl::string_view authorities) {
  const auto leaf = Certificate::FromPem(certificate);
  const auto all = ReadCertificates(authorities);
  if (!leaf.ok() || !all.ok()) return false;
  return std::any_of(all->begin() + 1, all->end(), [&leaf](const Certificate& authority) {
    return IsIssuedBy(*leaf, authority);
  });
}

bool IsOutdated(const ClientIdentity& identity, absl::string_view named) {
  if (named.empty()) return false;
  if (NameOfAuthorities(identity.authorities) != named) return true;
  return !IsOfFirst(identity.certificate, identity.authorities);
}

std::string ExplainForeignServer(absl::string_view error, absl::string_view server,
                                 absl::string_view remedy, absl::Time now) {
  if (!absl::StrContains(error, "certificate verify failed")) return "";
  return absl::StrCat(
      "this machine does not trust the certificate of ", server,
      "; if the cluster's authority was rotated while it was away, ", remedy,
      "; otherwise its clock, which says ",
      absl::FormatTime("%Y-%m-%d %H:%M UTC", now, absl::UTCTimeZone()),
      ", or the one of the coordinator is wrong, or another program has the address");
}

}  // namespace accel::security
