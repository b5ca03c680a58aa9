#include "coordinator/access/certificate_caller.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace accel::coordinator {
namespace {

// Maximum length of a URI. The URIs that a CA of accel writes are shorter.
constexpr size_t kMaxUri = 512;

absl::Status NotOurs() {
  return absl::UnauthenticatedError(
      "the certificate names no user or node of this cluster; ask an administrator for another "
      "one");
}

}  // namespace

absl::StatusOr<Caller> CallerOfCertificate(const std::vector<std::string>& uris,
                                           absl::string_view certificate,
                                           const CredentialTable& table) {
  if (uris.size() != 1 || uris[0].size() > kMaxUri) return NotOurs();
  const std::string& uri = uris[0];
  const size_t slash = uri.rfind('/');
  if (slash == std::string::npos || slash + 1 == uri.size()) return NotOurs();
  ACCEL_ASSIGN_OR_RETURN(Caller caller, table.Find(uri.substr(slash + 1), certificate));
  const absl::string_view kind = caller.kind == CallerKind::kNode ? "node" : "user";
  if (caller.kind == CallerKind::kOwner ||
      !absl::EndsWith(uri, absl::StrCat("/", kind, "/", caller.name, "/", caller.serial))) {
    return NotOurs();
  }
  return caller;
}

}  // namespace accel::coordinator
