#include "tests/fuzz/refusal.h"

#include "common/check.h"
#include "common/utf8.h"

namespace accel::fuzz {
namespace {

constexpr size_t kMaxMessageBytes = 4096;

}  // namespace

void CheckMessage(absl::string_view message) {
  ACCEL_CHECK(!message.empty(), "a refusal says why");
  ACCEL_CHECK(message.size() <= kMaxMessageBytes, "a refusal does not repeat a long input");
  while (!message.empty()) {
    const size_t length = message[0] == '\n' ? 1 : common::ShownLength(message);
    ACCEL_CHECK(length > 0, "a refusal can be shown on a terminal");
    message.remove_prefix(length);
  }
}

void CheckRefusal(const absl::Status& refusal) {
  ACCEL_CHECK(!refusal.ok(), "an error has a code");
  CheckMessage(refusal.message());
}

}  // namespace accel::fuzz
