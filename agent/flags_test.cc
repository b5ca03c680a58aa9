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
  EXPECT_EQ(Parse({"--name", "n1", "--shim", "/t"}, &options), std::nullopt);
  EXPECT_EQ(options.coordinator, "127.0.0.1:1");
  EXPECT_EQ(options.state_dir, "/s");
  EXPECT_EQ(options.name, "n1");
  EXPECT_EQ(options.shim, "/t");
}

TEST(AgentFlags, ABadCommandLineExitsWith2) {
  AgentDaemonOptions options;
  EXPECT_EQ(Parse({"--no_such_flag"}, &options), 2);
  EXPECT_EQ(Parse({"--version"}, &options), 0);
}

TEST(AgentFlags, SayHowOthersReachTheNode) {
  AgentDaemonOptions options;
  EXPECT_EQ(Parse({"--advertise", "eth0", "--port-range", "29500-29599"}, &options), std::nullopt);
  EXPECT_EQ(options.advertise, "eth0");
  EXPECT_EQ(options.port_range, "29500-29599");
  EXPECT_EQ(Parse({"--port_range", "29599-29500"}, &options), 2);
}

TEST(AgentFlags, LimitTheProcessesOfAJob) {
  AgentDaemonOptions options;
  EXPECT_EQ(Parse({}, &options), std::nullopt);
  EXPECT_EQ(options.max_processes, 0);
  EXPECT_EQ(Parse({"--max_processes", "300"}, &options), std::nullopt);
  EXPECT_EQ(options.max_processes, 300);
  for (const char* wrong : {"0", "15", "-1", "4194305", "many", "99999999999"}) {
    EXPECT_EQ(Parse({"--max_processes", wrong}, &options), 2) << wrong;
  }
}

TEST(AgentFlags, OnlyTheStateDirectoryIsRequired) {
  const auto parse = [](std::vector<std::string> words) {
    AgentDaemonOptions options;
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    return ParseAgentFlags(static_cast<int>(argv.size()), argv.data(), &options);
  };
  EXPECT_EQ(parse({"accel-agent"}), 2);
  EXPECT_EQ(parse({"accel-agent", "--state_dir", "/s"}), std::nullopt);
  EXPECT_EQ(parse({"accel-agent", "--state_dir", "/s", "--forget_cluster"}), std::nullopt);
}

}  // namespace
}  // namespace accel::agent
