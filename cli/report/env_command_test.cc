#include "cli/report/env_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>
#include <sstream>

namespace accel::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct Result {
  int exit_code = -1;
  std::string out, err;
};

Result Env(const std::vector<std::string>& args) {
  std::ostringstream out, err;
  const int exit_code = RunEnv(args, Console{out, err});
  return {exit_code, out.str(), err.str()};
}

TEST(EnvCommand, PrintsFactsAndNoSecret) {
  setenv("ACCEL_LAUNCH_KEY", "s3cret", 1);
  setenv("HF_HOME", "/nonexistent", 1);
  const Result result = Env({});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  for (const char* part : {"- accel: 0.", "- Platform: Linux", "- NVIDIA driver: ",
                           "- Control groups: ", "- Limit of open files: ", "- $HF_HOME: ",
                           "none; the default file would be /nonexistent/accelerate/"}) {
    EXPECT_THAT(result.out, HasSubstr(part));
  }
  EXPECT_THAT(result.out, Not(HasSubstr("s3cret")));
}

TEST(EnvCommand, PrintsNumbersAsJson) {
  const Result result = Env({"--json"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  for (const char* part : {"\"facts\": {\"accel\": \"0.", "\"processors\": ", "\"cores\": ",
                           "\"memory_bytes\": ", "\"gpus\": [", "\"limits\": {\"open_files\": "}) {
    EXPECT_THAT(result.out, HasSubstr(part));
  }
  EXPECT_THAT(result.out, Not(HasSubstr("\"processors\": \"")));
  EXPECT_THAT(result.out, Not(HasSubstr("\"processors\": 0")));
}

TEST(EnvCommand, PrintsTheConfiguration) {
  const std::string path = ::testing::TempDir() + "/env.yaml";
  std::ofstream(path) << "distributed_type: NO\nnum_processes: 3\n";
  const Result result = Env({"--config_file", path});
  EXPECT_THAT(result.out, HasSubstr("distributed_type: 'NO'\nnum_processes: 3\n"));
  std::ofstream(path) << "distributed: NO\n";
  EXPECT_EQ(Env({"--config_file", path}).exit_code, 2);
}

}  // namespace
}  // namespace accel::cli
