#include "process/program_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <fstream>

#include "absl/strings/str_cat.h"

namespace accel::process {
namespace {

using ::testing::HasSubstr;

class FindProgramTest : public ::testing::Test {
 protected:
  FindProgramTest() : folder_(absl::StrCat(getenv("TEST_TMPDIR"), "/XXXXXX")) {
    mkdtemp(folder_.data());
    for (const char* name : {"/a", "/b", "/b/tool"}) mkdir((folder_ + name).c_str(), 0755);
  }

  void Make(const std::string& name, mode_t mode) {
    const std::string path = absl::StrCat(folder_, "/", name);
    std::ofstream(path) << "#!/bin/sh\n";
    chmod(path.c_str(), mode);
  }

  std::string folder_;
};

TEST_F(FindProgramTest, AbsolutePath) {
  Make("a/tool", 0755);
  EXPECT_EQ(FindProgram(folder_ + "/a/tool", "/", {}).path, folder_ + "/a/tool");
}

TEST_F(FindProgramTest, RelativePathStartsInTheWorkingDirectory) {
  Make("a/tool", 0755);
  EXPECT_EQ(FindProgram("a/tool", folder_, {}).path, "a/tool");
  EXPECT_EQ(FindProgram("a/tool", folder_ + "/a", {}).code, kNotFoundCode);
}

TEST_F(FindProgramTest, FirstExecutableInThePath) {
  Make("a/other", 0644);
  Make("other", 0755);
  const std::string path = absl::StrCat("PATH=/no/such:", folder_, "/a:", folder_);
  EXPECT_EQ(FindProgram("other", "/", {"PATH=/wrong", path}).path, folder_ + "/other");
}

TEST_F(FindProgramTest, EmptyAndRelativeFoldersOfThePathStartInTheWorkingDirectory) {
  Make("here", 0755);
  Make("a/there", 0755);
  EXPECT_EQ(FindProgram("here", folder_, {"PATH=/no/such:"}).path, "./here");
  EXPECT_EQ(FindProgram("there", folder_, {"PATH=a"}).path, "a/there");
}

TEST_F(FindProgramTest, NotFound) {
  const ProgramPath found = FindProgram("no-such-tool", folder_, {"PATH=/usr/bin"});
  EXPECT_EQ(found.code, kNotFoundCode);
  EXPECT_THAT(found.why, HasSubstr("no-such-tool was not found"));
  EXPECT_THAT(found.why, HasSubstr("/usr/bin"));
}

TEST_F(FindProgramTest, NotExecutable) {
  Make("a/data", 0644);
  EXPECT_EQ(FindProgram("data", "/", {"PATH=" + folder_ + "/a"}).code, kNotExecutableCode);
  EXPECT_EQ(FindProgram(folder_ + "/a/data", "/", {}).code, kNotExecutableCode);
}

TEST_F(FindProgramTest, Folder) {
  EXPECT_EQ(FindProgram(folder_ + "/a", "/", {}).code, kNotExecutableCode);
  EXPECT_EQ(FindProgram("tool", "/", {"PATH=" + folder_ + "/b"}).code, kNotFoundCode);
}

TEST_F(FindProgramTest, DefaultPath) { EXPECT_EQ(FindProgram("sh", "/", {}).code, 0); }

TEST(FindEnvTest, LastOneWinsAndNamesAreWhole) {
  EXPECT_STREQ(FindEnv({"PATH=a", "PATHS=b", "PATH=c", "PAT=d"}, "PATH"), "c");
  EXPECT_STREQ(FindEnv({"EMPTY="}, "EMPTY"), "");
  EXPECT_EQ(FindEnv({"PATHS=b", "PATH"}, "PATH"), nullptr);
}

}  // namespace
}  // namespace accel::process
