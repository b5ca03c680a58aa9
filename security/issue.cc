#include "security/issue.h"

#include <sys/random.h>

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "security/certificate_builder.h"

namespace accel::security {
namespace {

constexpr char kLeafConstraints[] = "critical,CA:FALSE";
constexpr char kLeafUsage[] = "critical,digitalSignature";

}  // namespace

absl::StatusOr<std::string> MakeSerial() {
  char bytes[kSerialDigits / 2];
  if (getrandom(bytes, sizeof bytes, 0) != static_cast<ssize_t>(sizeof bytes)) {
    return absl::InternalError("the kernel gave no random bytes");
  }
  return absl::BytesToHexString(absl::string_view(bytes, sizeof bytes));
}

absl::StatusOr<Authority> MakeAuthority(absl::string_view cluster, absl::Time now) {
  ACCEL_ASSIGN_OR_RETURN(PrivateKey key, PrivateKey::Make());
  ACCEL_ASSIGN_OR_RETURN(const std::string serial, MakeSerial());
  ACCEL_ASSIGN_OR_RETURN(
      Certificate certificate,
      BuildCertificate({.subject = absl::StrCat("accel cluster ", cluster),
                        .serial = serial,
                        // A clock that is set back must not invalidate the authority, because it
                        // would invalidate all leaves.
                        .not_before = absl::UnixEpoch(),
                        .not_after = now + kAuthorityLife,
                        .extensions = {{NID_basic_constraints, "critical,CA:TRUE,pathlen:0"},
                                       {NID_key_usage, "critical,keyCertSign"}}},
                       key.public_key(), key, nullptr));
  return Authority{std::move(key), std::move(certificate)};
}

absl::StatusOr<Certificate> IssueServer(const Authority& authority, const PublicKey& key,
                                        absl::Time now) {
  ACCEL_ASSIGN_OR_RETURN(const std::string serial, MakeSerial());
  return BuildCertificate(
      {.subject = "accel coordinator",
       .serial = serial,
       .not_before = now - kBackdate,
       .not_after = now + kServerLife,
       .extensions = {{NID_basic_constraints, kLeafConstraints},
                      {NID_key_usage, kLeafUsage},
                      {NID_ext_key_usage, "serverAuth"},
                      {NID_subject_alt_name, absl::StrCat("DNS:", kServerName)}}},
      key, authority.key, &authority.certificate);
}

absl::StatusOr<Certificate> IssueClient(const Authority& authority, const PublicKey& key,
                                        const Principal& principal, absl::Time now,
                                        const std::string& node_name) {
  const bool is_node = principal.kind == PrincipalKind::kNode;
  return BuildCertificate(
      {.subject = absl::StrCat("accel ", KindText(principal.kind)),
       .serial = principal.serial,
       .not_before = now - kBackdate,
       .not_after = now + (is_node ? kNodeLife : kUserLife),
       .extensions = {{NID_basic_constraints, kLeafConstraints},
                      {NID_key_usage, kLeafUsage},
                      {NID_ext_key_usage, "clientAuth"},
                      {NID_subject_alt_name, absl::StrCat("URI:", PrincipalUri(principal))}},
       .node_name = node_name},
      key, authority.key, &authority.certificate);
}

}  // namespace accel::security
