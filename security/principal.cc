#include "security/principal.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/status_macros.h"

namespace accel::security {
namespace {

constexpr absl::string_view kScheme = "spiffe://";

bool IsNameByte(char c) { return absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.'; }

bool IsCluster(absl::string_view text) {
  return !text.empty() && text.size() <= kMaxClusterBytes &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return IsNameByte(c) && !absl::ascii_isupper(c); });
}

bool IsSerial(absl::string_view text) {
  return text.size() == kSerialDigits && std::all_of(text.begin(), text.end(), [](char c) {
           return absl::ascii_isdigit(c) || (c >= 'a' && c <= 'f');
         });
}

absl::Status Wrong(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("the identity in a certificate: ", what));
}

}  // namespace

absl::string_view KindText(PrincipalKind kind) {
  return kind == PrincipalKind::kNode ? "node" : "user";
}

absl::Status CheckPrincipalName(absl::string_view what, absl::string_view name) {
  if (!name.empty() && name.size() <= kMaxPrincipalNameBytes && name[0] != '-' && name[0] != '.' &&
      std::all_of(name.begin(), name.end(), IsNameByte)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(what, " must be 1 to ", kMaxPrincipalNameBytes,
                   " letters, digits, '-', '_' or '.', and start with a letter, a digit or '_'"));
}

std::string PrincipalUri(const Principal& principal) {
  return absl::StrCat(kScheme, principal.cluster, "/", KindText(principal.kind), "/",
                      principal.name, "/", principal.serial);
}

absl::StatusOr<Principal> ParsePrincipal(absl::string_view uri) {
  if (uri.size() > kMaxPrincipalUriBytes) return Wrong("it is too long");
  if (!absl::ConsumePrefix(&uri, kScheme)) return Wrong("it does not start with spiffe://");
  const std::vector<absl::string_view> parts = absl::StrSplit(uri, '/');
  if (parts.size() != 4) return Wrong("it is not CLUSTER/KIND/NAME/SERIAL");
  if (!IsCluster(parts[0])) return Wrong("its cluster is invalid");
  Principal principal;
  principal.cluster = std::string(parts[0]);
  if (parts[1] == "user") {
    principal.kind = PrincipalKind::kUser;
  } else if (parts[1] != "node") {
    return Wrong("it is neither a node's nor a user's");
  }
  ACCEL_RETURN_IF_ERROR(CheckPrincipalName("the identity in a certificate: its name", parts[2]));
  if (!IsSerial(parts[3])) return Wrong("its serial number is invalid");
  principal.name = std::string(parts[2]);
  principal.serial = std::string(parts[3]);
  return principal;
}

}  // namespace accel::security
