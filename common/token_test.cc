#include "common/token.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "common/status_matchers.h"

namespace accel::common {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

class TokenTest : public ::testing::Test {
 protected:
  TokenTest() {
    std::string name = ::testing::TempDir() + "/token.XXXXXX";
    home_ = mkdtemp(name.data());
    setenv("HOME", home_.c_str(), 1);
  }
  ~TokenTest() override { std::filesystem::remove_all(home_); }

  std::string Write(const std::string& text, mode_t mode) {
    const std::string path = home_ + "/t";
    std::ofstream(path) << text;
    chmod(path.c_str(), mode);
    return path;
  }

  std::string home_;
};

TEST_F(TokenTest, TheFirstUseMakesIt) {
  ASSERT_OK_AND_ASSIGN(const std::string path, DefaultTokenPath());
  EXPECT_EQ(path, home_ + "/.config/accel/token");
  EXPECT_THAT(ReadToken(path), StatusIs(absl::StatusCode::kNotFound, HasSubstr(path)));
  const auto made = ReadOrMakeToken(path);
  ASSERT_OK(made);
  EXPECT_EQ(made->size(), 64u);
  EXPECT_EQ(*ReadOrMakeToken(path), *made);
  EXPECT_EQ(*ReadToken(path), *made);
  struct stat info;
  ASSERT_EQ(stat((home_ + "/.config/accel/token").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  ASSERT_EQ(stat((home_ + "/.config/accel").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
}

TEST_F(TokenTest, ManyProcessesAtOnceMakeOne) {
  const std::string path = home_ + "/.config/accel/token";
  std::vector<std::string> tokens(16);
  std::vector<std::thread> daemons;
  for (std::string& token : tokens) {
    daemons.emplace_back([&token, &path] { token = ReadOrMakeToken(path).value(); });
  }
  for (std::thread& daemon : daemons) daemon.join();
  for (const std::string& token : tokens) EXPECT_EQ(token, tokens[0]);
  int files = 0;
  for (const auto& file : std::filesystem::directory_iterator(home_ + "/.config/accel")) {
    ++files;
    EXPECT_EQ(file.path().filename(), "token");
  }
  EXPECT_EQ(files, 1);
}

TEST_F(TokenTest, RefusesFilesThatOthersCanRead) {
  for (mode_t mode : {0644, 0640, 0604, 0620}) {
    EXPECT_THAT(ReadToken(Write("0123456789abcdef", mode)),
                StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("chmod 600")));
  }
}

TEST_F(TokenTest, RefusesTextThatIsNotAToken) {
  for (const std::string& text :
       {std::string(), std::string("short"), std::string("0123456789 abcdef"),
        std::string("0123456789\x01"
                    "abcdef"),
        std::string(5000, 'x')}) {
    EXPECT_THAT(ReadToken(Write(text, 0600)), StatusIs(absl::StatusCode::kInvalidArgument,
                                                       HasSubstr("does not contain a token")));
  }
  EXPECT_THAT(ReadToken(home_),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("plain file")));
}

}  // namespace
}  // namespace accel::common
