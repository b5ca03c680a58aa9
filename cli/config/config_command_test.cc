#include "cli/config/config_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

namespace accel::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct Result {
  int exit_code = -1;
  std::string out, err;
};

Result Config(const std::vector<std::string>& args) {
  std::ostringstream out, err;
  const int exit_code = RunConfig(args, Console{out, err});
  return {exit_code, out.str(), err.str()};
}

std::string Path(const std::string& name) { return ::testing::TempDir() + "/" + name; }

std::string Write(const std::string& name, const std::string& text) {
  std::ofstream(Path(name)) << text;
  return Path(name);
}

std::string Read(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(ConfigDefault, WritesAFileOnce) {
  std::filesystem::remove_all(Path("new"));
  const std::string path = Path("new/folder/default.yaml");
  const Result first = Config({"default", "--config_file", path, "--mixed_precision", "BF16"});
  EXPECT_EQ(first.exit_code, 0) << first.err;
  EXPECT_THAT(Read(path), HasSubstr("mixed_precision: bf16\n"));
  EXPECT_EQ(Config({"check", path}).exit_code, 0);
  const Result again = Config({"default", "--config_file", path});
  EXPECT_EQ(again.exit_code, 1);
  EXPECT_THAT(again.err, HasSubstr("Configuration already exists at " + path + ", will not over"));
}

TEST(Config, SaysWhereTheFlagForThePrecisionBelongs) {
  for (const char* word : {"--mixed_precision=bf16", "--mixed-precision"}) {
    const Result result = Config({word, "bf16"});
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.err, HasSubstr("is a flag of `accel config default`, which asks nothing"));
  }
}

TEST(ConfigUpdate, RenewsOldKeys) {
  const std::string path =
      Write("old.yaml", "distributed_type: NO\nfp16: true\nnum_processes: 1\n");
  const Result result = Config({"update", "--config_file", path});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("old.yaml:2:1: fp16 is an old key"));
  EXPECT_THAT(Read(path), HasSubstr("mixed_precision: fp16\n"));
  EXPECT_EQ(Config({"update", "--config_file", path}).err, "");
}

TEST(ConfigUpdate, DropsKeysOfOtherHardware) {
  const std::string path = Write("ipex.yaml",
                                 "distributed_type: NO\nipex_config: {ipex: false}\n"
                                 "num_processes: 1\nuse_mps_device: false\ntpu_use_sudo: false\n");
  EXPECT_EQ(Config({"check", path}).err, "");
  EXPECT_EQ(Config({"update", "--config_file", path}).exit_code, 0);
  for (const char* key : {"ipex", "use_mps_device", "tpu_use_sudo"}) {
    EXPECT_THAT(Read(path), Not(HasSubstr(key)));
  }
}

TEST(ConfigUpdate, NeedsAFile) {
  const Result result = Config({"update", "--config_file", Path("none.yaml")});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("none.yaml does not exist"));
}

TEST(ConfigUpdate, RenewsTheDefaultFileThatALaunchReads) {
  const std::string folder = Path("home/accelerate");
  std::filesystem::create_directories(folder);
  setenv("HF_HOME", Path("home").c_str(), 1);
  const std::string json =
      Write("home/accelerate/default_config.json",
            "{\"distributed_type\": \"NO\", \"fp16\": true, \"num_processes\": 1}");
  const Result result = Config({"update"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(Read(json), HasSubstr("\"mixed_precision\": \"fp16\""));
  EXPECT_FALSE(std::filesystem::exists(folder + "/default_config.yaml"));
  std::filesystem::remove(json);
  EXPECT_THAT(Config({"update"}).err, HasSubstr("the configuration file " + folder +
                                                "/default_config.yaml does not exist"));
  unsetenv("HF_HOME");
}

TEST(ConfigCheck, PrintsEveryProblem) {
  const std::string path =
      Write("wrong.yaml", "distributed_type: FSDP\nnum_process: 2\ndebug: maybe\n");
  const Result result = Config({"check", path});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("wrong.yaml:2:1: unknown key num_process; did you mean"));
  EXPECT_THAT(result.err, HasSubstr("wrong.yaml:3:8: debug: it is \"maybe\" and must be true"));
}

TEST(ConfigCheck, PrintsJson) {
  const std::string path = Write("right.yaml", "distributed_type: NO\nfp16: true\n");
  const Result result = Config({"check", "--json", path});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("right.yaml\", \"keys\": 2, \"notes\": [\""));
  EXPECT_EQ(result.err, "");
}

TEST(ConfigCheck, AcceptsEverySampleFile) {
  int files = 0;
  for (const auto& file : std::filesystem::directory_iterator("configs")) {
    if (file.path().extension() != ".yaml" && file.path().extension() != ".json") continue;
    ++files;
    const Result result = Config({"check", file.path().string()});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.err, "");
  }
  EXPECT_GE(files, 6);
}

TEST(ConfigExplain, ShowsFlagsAndTheFile) {
  const std::string path = Write("x.yaml", "distributed_type: NO\nnum_processes: 3\n");
  const Result result = Config({"explain", "--config_file", path, "--mixed_precision", "fp16"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("x.yaml:2:1\n"));
  EXPECT_THAT(result.out, HasSubstr("flag --mixed_precision\n"));
}

TEST(ConfigExplain, SaysWhyNothingIsDerived) {
  const std::string path = Write("x.yaml", "distributed_type: NO\nnum_processes: 2\n");
  const Result right = Config({"explain", "--config_file", path, "--cpu"});
  EXPECT_EQ(right.err, "");
  const Result wrong = Config({"explain", "--config_file", path, "--cpu", "--num_machines", "2"});
  EXPECT_EQ(wrong.exit_code, 0);
  EXPECT_THAT(wrong.out, HasSubstr("flag --num_machines\n"));
  EXPECT_THAT(wrong.err, HasSubstr("nothing is derived, because a launch would be refused: "
                                   "--num_machines is 2: several machines need an address"));
}

}  // namespace
}  // namespace accel::cli
