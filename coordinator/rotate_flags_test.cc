#include "coordinator/rotate_flags.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace accel::coordinator {
namespace {

std::optional<int> Parse(std::vector<std::string> arguments, RotateFlags* flags) {
  std::vector<char*> argv;
  arguments.insert(arguments.begin(), {"accel-coordinator", "rotate-ca"});
  for (std::string& argument : arguments) argv.push_back(argument.data());
  return ParseRotateFlags(static_cast<int>(argv.size()), argv.data(), flags);
}

TEST(RotateFlags, OneStepIsAskedForAtATime) {
  RotateFlags flags;
  EXPECT_EQ(Parse({"--state_dir", "/s"}, &flags), std::nullopt);
  EXPECT_EQ(flags.state_dir, "/s");
  EXPECT_FALSE(flags.finish);
  EXPECT_EQ(Parse({"--state_dir", "/s", "--finish", "--force"}, &flags), std::nullopt);
  EXPECT_TRUE(flags.finish && flags.force);
  const std::vector<std::string> wrong[] = {
      {},
      {"--finish"},
      {"--state_dir", "/s", "--status", "--finish"},
      {"--state_dir", "/s", "--force"},
      {"--state_dir", "/s", "--force", "--status"},
      {"--state_dir", "/s", "finish"},
  };
  for (const auto& arguments : wrong) {
    RotateFlags ignored;
    EXPECT_EQ(Parse(arguments, &ignored), 2) << ::testing::PrintToString(arguments);
  }
  RotateFlags ignored;
  EXPECT_EQ(Parse({"--help"}, &ignored), 0);
}

}  // namespace
}  // namespace accel::coordinator
