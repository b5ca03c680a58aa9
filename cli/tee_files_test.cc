#include "cli/tee_files.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "common/status_matchers.h"

namespace accel::cli {
namespace {

namespace fs = std::filesystem;
using ::accel::testing::StatusIs;
using ::testing::HasSubstr;

class TeeFilesTest : public ::testing::Test {
 protected:
  TeeFilesTest()
      : folder_(fs::path(std::getenv("TEST_TMPDIR")) /
                ::testing::UnitTest::GetInstance()->current_test_info()->name()) {}

  std::string Attempt(int number) const { return folder_ / ("attempt_" + std::to_string(number)); }

  std::string Read(const std::string& name) const {
    std::stringstream text;
    text << std::ifstream(folder_ / name).rdbuf();
    return text.str();
  }

  const fs::path folder_;
  TeeFiles files_;
};

TEST_F(TeeFilesTest, EachAttemptAndLocalRankHasItsFiles) {
  files_.Add(Attempt(0), 0, /*is_stdout=*/true, 0, "a");
  files_.Add(Attempt(0), 1, /*is_stdout=*/true, 0, "b");
  files_.Add(Attempt(0), 0, /*is_stdout=*/false, 0, "c");
  files_.Add(Attempt(0), 0, /*is_stdout=*/true, 9, "d\n");
  files_.Add(Attempt(1), 0, /*is_stdout=*/true, 0, "e");
  EXPECT_OK(files_.status());
  EXPECT_EQ(Read("attempt_0/0/stdout.log"), "a... 9 bytes of output were dropped ...\nd\n");
  EXPECT_EQ(Read("attempt_0/1/stdout.log"), "b");
  EXPECT_EQ(Read("attempt_0/0/stderr.log"), "c");
  EXPECT_EQ(Read("attempt_1/0/stdout.log"), "e");
}

TEST_F(TeeFilesTest, ErrorFilesAreLinked) {
  fs::create_directories(folder_ / "gen_1");
  std::ofstream(folder_ / "gen_1/error.json") << "{}";
  files_.LinkErrorFile(Attempt(0), 3, folder_ / "gen_1/error.json");
  files_.LinkErrorFile(Attempt(0), 4, folder_ / "gen_1/none.json");
  EXPECT_OK(files_.status());
  EXPECT_EQ(Read("attempt_0/3/error.json"), "{}");
  EXPECT_FALSE(fs::exists(folder_ / "attempt_0/4"));
}

// A link where a file should be stands for what another program may have put there.
TEST_F(TeeFilesTest, TheFirstErrorIsKeptAndOtherFilesGoOn) {
  fs::create_directories(folder_ / "attempt_0/0");
  fs::create_symlink("/dev/full", folder_ / "attempt_0/0/stdout.log");
  files_.Add(Attempt(0), 0, /*is_stdout=*/true, 0, "a");
  files_.Add(Attempt(0), 0, /*is_stdout=*/true, 0, "b");
  files_.Add(Attempt(0), 1, /*is_stdout=*/true, 0, "c");
  EXPECT_THAT(files_.status(),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("attempt_0/0/stdout.log: Too many levels of symbolic links; the "
                                 "copies of --tee are incomplete")));
  EXPECT_EQ(Read("attempt_0/1/stdout.log"), "c");
}

}  // namespace
}  // namespace accel::cli
