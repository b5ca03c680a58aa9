#include "tests/fuzz/refusal.h"

#include "absl/strings/str_split.h"
#include "common/check.h"
#include "common/printable.h"

namespace accel::fuzz {
namespace {

constexpr size_t kMaxMessageBytes = 4096;

}  // namespace

void CheckMessage(absl::string_view message) {
  ACCEL_CHECK(!message.empty(), "a refusal says why");
  ACCEL_CHECK(message.size() <= kMaxMessageBytes, "a refusal does not repeat a long input");
  for (const absl::string_view line : absl::StrSplit(message, '\n')) {
    ACCEL_CHECK(common::Printable(line) == line, "a refusal can be shown on a terminal");
  }
}

void CheckRefusal(const absl::Status& refusal) {
  ACCEL_CHECK(!refusal.ok(), "an error has a code");
  CheckMessage(refusal.message());
}

}  // namespace accel::fuzz
