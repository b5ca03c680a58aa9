#include "cli/submit_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/launch_flags.h"
#include "common/status_matchers.h"

namespace accel::cli {
namespace {

using ::accel::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

absl::Status Parse(const std::vector<std::string>& args, SubmitFlags* to) {
  const absl::Status parsed = MakeSubmitFlagSet(to).Parse(args);
  return parsed.ok() ? CheckSubmitFlags(*to) : parsed;
}

TEST(SubmitFlags, ReadsEveryFlag) {
  SubmitFlags flags;
  ASSERT_OK(Parse({"--nodes", "2", "--processes-per-node", "3,4", "--name", "mnist", "--workdir",
                   "/data", "--time_limit", "15m", "--wait", "--json", "--coordinator",
                   "127.0.0.1:1", "--cpu", "--", "train", "--wait"},
                  &flags));
  EXPECT_EQ(flags.nodes.min, 2);
  EXPECT_EQ(flags.nodes.max, 2);
  EXPECT_THAT(flags.processes_per_node, ElementsAre(3, 4));
  EXPECT_EQ(flags.name, "mnist");
  EXPECT_EQ(flags.workdir, "/data");
  EXPECT_EQ(flags.time_limit, absl::Minutes(15));
  EXPECT_TRUE(flags.wait);
  EXPECT_TRUE(flags.json);
  EXPECT_EQ(flags.connection.coordinator, "127.0.0.1:1");
  EXPECT_TRUE(flags.job.cpu);
  EXPECT_THAT(flags.job.program.words, ElementsAre("train", "--wait"));
}

TEST(SubmitFlags, ProcessesPerNodeFitTheNodes) {
  SubmitFlags flags;
  EXPECT_THAT(Parse({"--processes_per_node", "3,4", "x"}, &flags),
              StatusIs(kInvalid, HasSubstr("has 2 entries for 1 node;")));
  EXPECT_OK(Parse({"--nodes", "3", "--processes_per_node", "4", "x"}, &flags));
  EXPECT_THAT(Parse({"--nodes", "0", "x"}, &flags), StatusIs(kInvalid, HasSubstr("--nodes \"0\"")));
}

TEST(SubmitFlags, AJobMayHaveARangeOfNodes) {
  SubmitFlags flags;
  ASSERT_OK(Parse({"--nodes", "2:4", "--processes_per_node", "3", "x"}, &flags));
  EXPECT_EQ(flags.nodes.min, 2);
  EXPECT_EQ(flags.nodes.max, 4);
  EXPECT_THAT(Parse({"--nodes", "2:4", "--processes_per_node", "3,4", "x"}, &flags),
              StatusIs(kInvalid, HasSubstr("--nodes 2:4 does not say how many nodes")));
  for (const char* wrong : {"4:2", "0:3", ":", "2:", ":3", "2:3:4", "x", "10001", "2:10001"}) {
    EXPECT_THAT(Parse({"--nodes", wrong, "x"}, &flags),
                StatusIs(kInvalid, HasSubstr("MIN:MAX, such as 2:4")))
        << wrong;
  }
}

TEST(LaunchFlags, ReadsEveryFlag) {
  LaunchFlags flags;
  ASSERT_OK(MakeLaunchFlagSet(&flags).Parse({"--num-processes", "2", "--log-dir", "logs", "--shim",
                                             "/s", "--cpu", "train.py", "--num_processes", "9"}));
  EXPECT_OK(CheckLaunchFlags(flags));
  const EffectiveSettings settings(std::nullopt, flags.settings);
  EXPECT_EQ(settings.Int("num_processes"), 2);
  EXPECT_EQ(settings.Text("log_dir"), "logs");
  EXPECT_EQ(flags.shim, "/s");
  EXPECT_TRUE(settings.Is("cpu"));
  EXPECT_THAT(flags.job.program.words, ElementsAre("train.py", "--num_processes", "9"));
}

TEST(LaunchFlags, HelpNamesEveryExitCode) {
  LaunchFlags flags;
  const std::string help = MakeLaunchFlagSet(&flags).Help();
  for (const char* code : {"  0 ", "  N ", "  128+N ", "  126 ", "  127 ", "  2 ", "  1 "}) {
    EXPECT_THAT(help, HasSubstr(code));
  }
}

}  // namespace
}  // namespace accel::cli
