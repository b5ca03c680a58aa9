#include "agent/flags.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace accel::agent {
namespace {

std::optional<int> Parse(std::vector<std::string> words, AgentDaemonOptions* options) {
  words.insert(words.begin(), {"accel-agent", "--coordinator", "127.0.0.1:1", "--state_dir", "/s"});
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  return ParseAgentFlags(static_cast<int>(argv.size()), argv.data(), options);
}

TEST(AgentFlags, SetTheOptions) {
  AgentDaemonOptions options;
  EXPECT_EQ(Parse({"--name", "n1", "--leftover-grace", "0.5"}, &options), std::nullopt);
  EXPECT_EQ(options.coordinator, "127.0.0.1:1");
  EXPECT_EQ(options.state_dir, "/s");
  EXPECT_EQ(options.name, "n1");
  EXPECT_EQ(options.leftover_grace, absl::Milliseconds(500));
}

TEST(AgentFlags, LeftoversHaveFortySecondsByDefault) {
  AgentDaemonOptions options;
  EXPECT_EQ(Parse({}, &options), std::nullopt);
  EXPECT_EQ(options.leftover_grace, absl::Seconds(40));
}

TEST(AgentFlags, ABadCommandLineExitsWith2) {
  AgentDaemonOptions options;
  for (const char* grace : {"-1", "86401", "soon", "nan", "inf", ""}) {
    EXPECT_EQ(Parse({"--leftover_grace", grace}, &options), 2) << grace;
  }
  EXPECT_EQ(Parse({"--no_such_flag"}, &options), 2);
  EXPECT_EQ(Parse({"--version"}, &options), 0);
}

}  // namespace
}  // namespace accel::agent
