// The one-time keys that people paste.
#include "security/enrolment/join_string.h"

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "security/sha256.h"
#include "tests/fuzz/refusal.h"
#include "tests/fuzz/target.h"

namespace accel::security {
namespace {

void Check(absl::string_view text) {
  const auto key = ParseJoinString(text);
  if (!key.ok()) return fuzz::CheckRefusal(key.status());
  ACCEL_CHECK(FormatJoinString(*key) == absl::StripAsciiWhitespace(text), "a key has one text");
}

}  // namespace

FUZZ_TARGET(text) {
  Check(text);
  // With the right digits at its end, because a changed byte is refused for them alone.
  const absl::string_view signed_part = text.substr(0, text.rfind('.'));
  const std::string digits = absl::BytesToHexString(Sha256(signed_part));
  Check(absl::StrCat(signed_part, ".", digits.substr(0, 8)));
}

}  // namespace accel::security
