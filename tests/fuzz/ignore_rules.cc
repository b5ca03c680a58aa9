// The rules of a .accelignore. The lines of the input are rules, and paths to compare them with.
#include "upload/core/ignore_rules.h"

#include "absl/strings/str_split.h"
#include "common/check.h"
#include "tests/fuzz/refusal.h"
#include "tests/fuzz/target.h"

FUZZ_TARGET(text) {
  const auto rules = accel::upload::IgnoreRules::Parse(text);
  if (!rules.ok()) return accel::fuzz::CheckRefusal(rules.status());
  ACCEL_CHECK(rules->LeavesOut("a/.git", true) || text.find('!') != text.npos,
              "built-in rules hold");
  int paths = 0;
  for (const absl::string_view path : absl::StrSplit(text, '\n')) {
    if (++paths > 16) break;
    const bool file = rules->LeavesOut(path, false), folder = rules->LeavesOut(path, true);
    ACCEL_CHECK(file == folder || text.find('/') != text.npos, "only a rule with / is for folders");
  }
}
