#include "security/enrolment/join_string.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/host_port.h"
#include "security/sha256.h"

namespace accel::security {
namespace {

constexpr absl::string_view kPrefix = "accel1.";
constexpr size_t kCheckDigits = 8;
constexpr size_t kPartsAfterAddress = 4;

absl::Status Wrong(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("the key ", what));
}

std::string Base64(absl::string_view bytes) {
  std::string text = absl::WebSafeBase64Escape(bytes);
  while (absl::EndsWith(text, "=")) text.pop_back();
  return text;
}

std::string CheckOf(absl::string_view text) {
  return absl::BytesToHexString(Sha256(text)).substr(0, kCheckDigits);
}

bool IsTokenId(absl::string_view id) {
  return id.size() == kTokenIdDigits && std::all_of(id.begin(), id.end(), [](char c) {
           return absl::ascii_isdigit(c) || (c >= 'a' && c <= 'f');
         });
}

}  // namespace

std::string FormatJoinString(const JoinString& key) {
  const std::string text = absl::StrCat(kPrefix, key.address, ".", key.token_id, ".",
                                        Base64(key.secret), ".", Base64(key.pin));
  return absl::StrCat(text, ".", CheckOf(text));
}

absl::StatusOr<JoinString> ParseJoinString(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  if (text.empty()) return Wrong("is empty");
  if (text.size() > kMaxJoinStringBytes) return Wrong("is too long; paste only the key");
  if (std::any_of(text.begin(), text.end(), absl::ascii_isspace)) {
    return Wrong("has spaces or line breaks inside; paste it as one line");
  }
  if (!absl::StartsWith(text, kPrefix)) {
    return Wrong(absl::StartsWith(text, "accel")
                     ? "is of another version of accel, or its start is damaged"
                     : "does not start with accel1. ; paste all of the line");
  }
  std::vector<absl::string_view> parts = absl::StrSplit(text.substr(kPrefix.size()), '.');
  if (parts.size() < kPartsAfterAddress + 1) return Wrong("was cut off; paste all of the line");
  const size_t first = parts.size() - kPartsAfterAddress;
  const absl::string_view check = parts.back();
  if (check.size() != kCheckDigits) return Wrong("was cut off at its end; paste all of the line");
  if (check != CheckOf(text.substr(0, text.size() - check.size() - 1))) {
    return Wrong("has a wrong or missing character; copy it again");
  }
  JoinString key;
  parts.resize(parts.size() - 1);
  if (!IsTokenId(parts[first]) || !absl::WebSafeBase64Unescape(parts[first + 1], &key.secret) ||
      !absl::WebSafeBase64Unescape(parts[first + 2], &key.pin) ||
      key.secret.size() != kTokenSecretBytes || key.pin.size() != kSha256Bytes) {
    return Wrong("is not one that accel makes");
  }
  key.token_id = std::string(parts[first]);
  const char* const address = text.data() + kPrefix.size();
  key.address = std::string(address, static_cast<size_t>(parts[first].data() - 1 - address));
  const auto host_port = common::ParseHostPort(key.address);
  if (!host_port.ok()) return Wrong("has no valid HOST:PORT");
  // Several Base64 texts may decode to the same bytes. Only the one that accel makes is accepted.
  if (FormatJoinString(key) != text) return Wrong("is not one that accel makes");
  return key;
}

}  // namespace accel::security
