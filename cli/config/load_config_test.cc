#include "cli/config/load_config.h"

#include <sys/stat.h>

#include <fstream>

#include "common/status_matchers.h"

namespace accel::cli {
namespace {

using ::accel::testing::StatusIs;
using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

class LoadConfigTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::optional<ConfigFile>> Load(const std::string& file, bool cpu) {
    return LoadConfig(file, cpu, [this](const std::string& name) -> std::optional<std::string> {
      if (name != "HF_HOME") return std::nullopt;
      return home_;
    });
  }

  std::string Write(const std::string& name, const std::string& text) {
    const std::string path = ::testing::TempDir() + "/" + name;
    std::ofstream(path) << text;
    return path;
  }

  std::string home_ = ::testing::TempDir() + "/nowhere";
};

TEST_F(LoadConfigTest, TheDefaultFileIsReadExceptWithCpu) {
  home_ = ::testing::TempDir();
  mkdir((home_ + "/accelerate").c_str(), 0700);
  const std::string path =
      Write("accelerate/default_config.yaml", "distributed_type: NO\nnum_processes: 1\n");
  ASSERT_OK_AND_ASSIGN(const auto file, Load("", false));
  ASSERT_TRUE(file.has_value());
  EXPECT_EQ(file->path, path);
  EXPECT_FALSE((*Load("", true)).has_value());
  EXPECT_TRUE((*Load(path, true)).has_value());
}

TEST_F(LoadConfigTest, NoDefaultFileIsNoError) { EXPECT_FALSE((*Load("", false)).has_value()); }

TEST_F(LoadConfigTest, ReadsJson) {
  const std::string path =
      Write("c.json", "{\"distributed_type\": \"NO\", \"num_processes\": 1}\n");
  EXPECT_OK(Load(path, false));
}

TEST_F(LoadConfigTest, RefusesWhatIsNoConfiguration) {
  EXPECT_THAT(Load("/nonexistent/x.yaml", false), StatusIs(kInvalid, HasSubstr("does not exist")));
  EXPECT_THAT(Load(::testing::TempDir(), false),
              StatusIs(kInvalid, HasSubstr("not a regular file")));
  EXPECT_THAT(Load(Write("huge.yaml", std::string(300'000, 'x')), false),
              StatusIs(kInvalid, HasSubstr("bytes; at most")));
}

}  // namespace
}  // namespace accel::cli
