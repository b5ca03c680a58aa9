#include "security/enrolment/join_string.h"

#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/status_matchers.h"

namespace accel::security {
namespace {

using ::accel::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::Not;

JoinString Key(const std::string& address = "n1.example.org:7337") {
  return {address, "0123456789abcdef", std::string(16, '\xa7'), std::string(32, '\x5c')};
}

TEST(JoinStringTest, ReadsWhatItWrites) {
  for (const char* address : {"n1.example.org:7337", "10.0.0.1:1", "[fe80::1]:65535"}) {
    const std::string text = FormatJoinString(Key(address));
    ASSERT_OK_AND_ASSIGN(const JoinString key, ParseJoinString("  " + text + "\r\n"));
    EXPECT_EQ(key, Key(address));
  }
}

TEST(JoinStringTest, SlipsOfPastingAreNamed) {
  const std::string text = FormatJoinString(Key());
  std::string typo = text;
  typo[20] = typo[20] == 'x' ? 'y' : 'x';
  const auto error = [](const std::string& wrong) {
    const absl::Status status = ParseJoinString(wrong).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  EXPECT_THAT(error(" \n"), HasSubstr("is empty"));
  EXPECT_THAT(error(text.substr(0, 40) + "\n" + text.substr(40)), HasSubstr("line breaks"));
  EXPECT_THAT(error("'" + text + "'"), HasSubstr("does not start with accel1."));
  EXPECT_THAT(error("accel2" + text.substr(6)), HasSubstr("another version"));
  EXPECT_THAT(error(text.substr(0, 30)), HasSubstr("cut off"));
  EXPECT_THAT(error(text.substr(0, text.size() - 3)), HasSubstr("cut off at its end"));
  EXPECT_THAT(error(typo), HasSubstr("wrong or missing character"));
  EXPECT_THAT(error(text + std::string(512, 'x')), HasSubstr("too long"));
}

TEST(JoinStringTest, ErrorsContainNothingOfTheKey) {
  const std::string text = FormatJoinString(Key());
  for (size_t size = 0; size < text.size(); ++size) {
    const std::string message(ParseJoinString(text.substr(0, size)).status().message());
    EXPECT_THAT(message, Not(HasSubstr("p6enp6en")));
  }
}

// No single change is accepted, and whatever is accepted is written back as it was.
TEST(JoinStringTest, ChangedKeysAreRefused) {
  const std::string text = FormatJoinString(Key());
  std::mt19937 random(12);
  for (int i = 0; i < 100'000; ++i) {
    std::string changed = text;
    for (unsigned changes = 1 + random() % 3; changes > 0; --changes) {
      const size_t at = random() % changed.size();
      switch (random() % 3) {
        case 0:
          changed.erase(at, 1 + random() % 4);
          break;
        case 1:
          changed.insert(at, 1, static_cast<char>(random()));
          break;
        default:
          changed[at] = static_cast<char>(random());
      }
    }
    const auto key = ParseJoinString(changed);
    if (!key.ok()) continue;
    ASSERT_EQ(*key, Key());
  }
}

}  // namespace
}  // namespace accel::security
