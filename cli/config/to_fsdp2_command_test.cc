#include "cli/config/to_fsdp2_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <sstream>

namespace accel::cli {
namespace {

using ::testing::HasSubstr;

std::string Path(const std::string& name) { return ::testing::TempDir() + "/" + name; }

struct Result {
  int exit_code = -1;
  std::string out, err;
};

Result Convert(const std::vector<std::string>& args) {
  std::ostringstream out, err;
  const int exit_code = RunToFsdp2(args, Console{out, err});
  return {exit_code, out.str(), err.str()};
}

TEST(ToFsdp2Command, WritesAnotherFileOrTheSame) {
  std::remove(Path("two.yaml").c_str());
  std::ofstream(Path("one.yaml")) << "distributed_type: FSDP\nfsdp_config:\n"
                                     "  fsdp_sharding_strategy: full_shard\n";
  const Result other =
      Convert({"--config_file", Path("one.yaml"), "--output_file", Path("two.yaml")});
  EXPECT_EQ(other.exit_code, 0) << other.err;
  std::ifstream file(Path("two.yaml"));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(text,
            "distributed_type: FSDP\nfsdp_config:\n  fsdp_reshard_after_forward: true\n"
            "  fsdp_version: 2\n");
  const Result again =
      Convert({"--config_file", Path("one.yaml"), "--output_file", Path("two.yaml")});
  EXPECT_EQ(again.exit_code, 1);
  EXPECT_THAT(again.err, HasSubstr("already exists and --overwrite is not set"));
  EXPECT_EQ(Convert({"--config_file", Path("one.yaml"), "--overwrite"}).exit_code, 0);
  const Result nothing = Convert({"--config_file", Path("one.yaml"), "--overwrite"});
  EXPECT_THAT(nothing.err, HasSubstr("nothing was converted"));
  EXPECT_EQ(nothing.out, "");
}

TEST(ToFsdp2Command, PrintsJson) {
  std::ofstream(Path("j.yaml")) << "distributed_type: FSDP\nfsdp_config:\n"
                                   "  fsdp_sharding_strategy: full_shard\n";
  const std::vector<std::string> words = {"--json", "--config_file", Path("j.yaml"), "--overwrite"};
  const Result first = Convert(words);
  EXPECT_EQ(first.exit_code, 0) << first.err;
  EXPECT_THAT(first.out, HasSubstr("j.yaml\", \"converted\": true, \"notes\": ["));
  EXPECT_EQ(first.err, "");
  EXPECT_THAT(Convert(words).out, HasSubstr("\"converted\": false, \"notes\": [\""));
}

TEST(ToFsdp2Command, NeedsAFileToWrite) {
  EXPECT_EQ(Convert({"--config_file", "x"}).exit_code, 2);
  EXPECT_EQ(Convert({"--output_file", "x"}).exit_code, 2);
}

}  // namespace
}  // namespace accel::cli
