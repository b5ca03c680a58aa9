#include "coordinator/flags.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace accel::coordinator {
namespace {

std::optional<int> Parse(std::vector<std::string> arguments, CoordinatorFlags* flags) {
  std::vector<char*> argv;
  arguments.insert(arguments.begin(), {"accel-coordinator", "--state_dir", "/tmp/c"});
  for (std::string& argument : arguments) argv.push_back(argument.data());
  return ParseFlags(static_cast<int>(argv.size()), argv.data(), flags);
}

TEST(CoordinatorFlags, TheTimeoutOfNodesMakesSense) {
  for (const char* seconds : {"0", "0.1", "0.49", "-5", "nan", "inf", "86401", "5s", ""}) {
    CoordinatorFlags flags;
    EXPECT_EQ(Parse({"--node_timeout", seconds}, &flags), 2) << seconds;
  }
  CoordinatorFlags flags;
  EXPECT_EQ(Parse({}, &flags), std::nullopt);
  EXPECT_EQ(flags.node_timeout, absl::Seconds(3));
  EXPECT_EQ(Parse({"--node_timeout", "0.5"}, &flags), std::nullopt);
  EXPECT_EQ(flags.node_timeout, absl::Milliseconds(500));
  EXPECT_EQ(Parse({"--node-timeout", "86400"}, &flags), std::nullopt);
  EXPECT_EQ(flags.grow_after, absl::Seconds(30));
  EXPECT_EQ(Parse({"--grow_after", "nan"}, &flags), 2);
  EXPECT_EQ(Parse({"--grow_after", "2"}, &flags), std::nullopt);
  EXPECT_EQ(flags.grow_after, absl::Seconds(2));
}

}  // namespace
}  // namespace accel::coordinator
