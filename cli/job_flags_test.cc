#include "cli/job_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "common/status_matchers.h"

namespace accel::cli {
namespace {

using ::accel::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

absl::Status Parse(const std::vector<std::string>& args, JobFlags* to) {
  FlagSet flags("accel try", "", "");
  AddJobFlags(&flags, to);
  return flags.Parse(args);
}

TEST(JobFlags, ReadsEveryFlag) {
  JobFlags flags;
  ASSERT_OK(Parse({"--gpu-ids",
                   "2,0",
                   "--mixed-precision",
                   "bf16",
                   "--max-restarts=3",
                   "--debug",
                   "--restart_window",
                   "1h",
                   "--no_retry_on",
                   "93,64",
                   "--hang_timeout",
                   "5m",
                   "-m",
                   "--python",
                   "py",
                   "--env",
                   "A",
                   "--env",
                   "B=2",
                   "pkg.mod",
                   "--cpu"},
                  &flags));
  EXPECT_THAT(flags.gpu_ids, ElementsAre(2, 0));
  EXPECT_EQ(flags.mixed_precision, "bf16");
  EXPECT_EQ(flags.max_restarts, 3);
  EXPECT_EQ(flags.restart_window, absl::Hours(1));
  EXPECT_THAT(flags.no_retry_on, ElementsAre(93, 64));
  EXPECT_EQ(flags.hang_timeout, absl::Minutes(5));
  EXPECT_TRUE(flags.debug);
  EXPECT_TRUE(flags.program.module);
  EXPECT_FALSE(flags.program.no_python);
  EXPECT_EQ(flags.program.python, "py");
  EXPECT_THAT(flags.env, ElementsAre("A", "B=2"));
  EXPECT_THAT(flags.program.words, ElementsAre("pkg.mod", "--cpu"));
  EXPECT_FALSE(flags.cpu);
}

TEST(JobFlags, MixedPrecisionHasFourModes) {
  for (const char* mode : {"no", "fp16", "bf16", "fp8"}) {
    JobFlags flags;
    EXPECT_OK(Parse({"--mixed_precision", mode, "x"}, &flags));
    EXPECT_EQ(flags.mixed_precision, mode);
  }
  JobFlags flags;
  EXPECT_THAT(Parse({"--mixed_precision", "int4", "x"}, &flags),
              StatusIs(kInvalid, HasSubstr("Unknown mixed_precision mode: int4")));
}

TEST(JobFlags, CpuAndGpuIdsContradictEachOther) {
  JobFlags flags;
  ASSERT_OK(Parse({"--cpu", "--gpu_ids", "0", "x"}, &flags));
  EXPECT_THAT(CheckJobFlags(flags),
              StatusIs(kInvalid, "`--cpu` and `--gpu_ids` cannot be used together"));
  ASSERT_OK(Parse({"--cpu", "--gpu_ids", "all", "x"}, &flags));
  EXPECT_OK(CheckJobFlags(flags));
}

TEST(ParseProcessesPerNode, TakesOneNumberOrOnePerNode) {
  EXPECT_THAT(*ParseProcessesPerNode("auto"), IsEmpty());
  EXPECT_THAT(*ParseProcessesPerNode("4"), ElementsAre(4));
  EXPECT_THAT(*ParseProcessesPerNode("3,4"), ElementsAre(3, 4));
  for (const char* bad : {"", "0", "3,", "many", "1025"}) {
    EXPECT_THAT(ParseProcessesPerNode(bad),
                StatusIs(kInvalid, HasSubstr("is not a number from 1 to 1024")));
  }
}

TEST(ParseTimeLimit, TakesSecondsUnitsAndClockTimes) {
  const std::pair<const char*, absl::Duration> kCases[] = {
      {"90", absl::Seconds(90)},       {"90s", absl::Seconds(90)},   {"15m", absl::Minutes(15)},
      {"2h", absl::Hours(2)},          {"1h30m", absl::Minutes(90)}, {"1.5h", absl::Minutes(90)},
      {"2d", absl::Hours(48)},         {"15:00", absl::Minutes(15)}, {"1:30:00", absl::Minutes(90)},
      {"100:00:00", absl::Hours(100)},
  };
  for (const auto& [text, expected] : kCases) {
    const auto limit = ParseTimeLimit(text);
    ASSERT_OK(limit) << text;
    EXPECT_EQ(*limit, expected) << text;
  }
}

TEST(ParseTimeLimit, RefusesOtherTexts) {
  for (const char* bad : {"", "soon", "1:60", "1:2:3:4", ":30", "1:", "5 m", "90x", "d"}) {
    EXPECT_THAT(ParseTimeLimit(bad), StatusIs(kInvalid, HasSubstr("it must look like"))) << bad;
  }
  for (const char* bad : {"0", "0s", "-5s", "500ms", "inf", "99999d", "nand"}) {
    EXPECT_FALSE(ParseTimeLimit(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace accel::cli
