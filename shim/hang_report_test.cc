#include "shim/hang_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace accel::shim {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(HangReportTest, TheFactSaysHowLongSinceWhenAndInWhatState) {
  const absl::Time now = absl::UnixEpoch() + absl::Hours(5);
  const absl::Time wall = absl::FromUnixSeconds(1'800'000'000);  // 08:00:00.
  Hang hang = {.rank = 1,
               .last_beat = now - absl::Milliseconds(30'400),
               .silence = absl::Milliseconds(30'400),
               .state = 'T'};
  const ExitFact fact = HungFact(hang, now, wall);
  EXPECT_EQ(fact.kind, ExitFact::Kind::kHung);
  EXPECT_FALSE(fact.ok());
  EXPECT_EQ(
      fact.message,
      "has made no progress for 30s (its last step ended at 2027-01-15 07:59:29 UTC; a signal "
      "has stopped it)");
  hang.last_beat.reset();
  EXPECT_THAT(HungFact(hang, now, wall).message, HasSubstr("(it has reported no step; a signal"));
  const std::pair<char, const char*> states[] = {{'t', "a debugger has stopped it"},
                                                 {'D', "it is in a wait that no signal ends"},
                                                 {'R', "it is running"},
                                                 {'S', "it is sleeping"}};
  for (const auto& [state, text] : states) {
    hang.state = state;
    EXPECT_THAT(HungFact(hang, now, wall).message, HasSubstr(text));
  }
  hang.waits = true;
  EXPECT_THAT(HungFact(hang, now, wall).message, HasSubstr("; it waits for other ranks)"));
}

TEST(HangReportTest, EachLineOfTheRecordIsMarkedAndTheThreadsAreInIt) {
  const std::string record = HangRecord("rank 1 hangs", getpid());
  EXPECT_THAT(record, StartsWith("accel: rank 1 hangs\n"));
  EXPECT_THAT(record, HasSubstr(absl::StrCat("accel: thread ", getpid(), " \"")));
  for (const absl::string_view line : absl::StrSplit(record, '\n', absl::SkipEmpty())) {
    EXPECT_TRUE(absl::StartsWith(line, "accel: ")) << line;
  }
  EXPECT_LE(record.size(), kMaxHangRecordBytes);
}

}  // namespace
}  // namespace accel::shim
