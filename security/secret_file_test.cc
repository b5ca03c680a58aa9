#include "security/secret_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "common/status_matchers.h"

namespace accel::security {
namespace {

using ::accel::testing::StatusIs;
using ::testing::HasSubstr;

class SecretFileTest : public ::testing::Test {
 protected:
  SecretFileTest() {
    folder_ = ::testing::TempDir() + "/secretXXXXXX";
    EXPECT_NE(mkdtemp(folder_.data()), nullptr);
    path_ = folder_ + "/key";
  }

  std::string folder_;
  std::string path_;
};

TEST_F(SecretFileTest, IsReadBackAndReplaced) {
  ASSERT_OK(WriteSecretFile(path_, "one"));
  ASSERT_OK(WriteSecretFile(path_, "two"));
  ASSERT_OK_AND_ASSIGN(const std::string content, ReadSecretFile(path_));
  EXPECT_EQ(content, "two");
  struct stat info;
  ASSERT_EQ(stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  int files = 0;
  for (const auto& each : std::filesystem::directory_iterator(folder_)) {
    files += each.is_regular_file() ? 1 : 0;
  }
  EXPECT_EQ(files, 1);
}

TEST_F(SecretFileTest, AFileThatOthersCanReadIsRefused) {
  ASSERT_OK(WriteSecretFile(path_, "one"));
  ASSERT_EQ(chmod(path_.c_str(), 0640), 0);
  EXPECT_THAT(ReadSecretFile(path_).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("chmod 600")));
}

TEST_F(SecretFileTest, WhatIsNoPlainFileIsRefused) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_THAT(ReadSecretFile(path_).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("not a plain file")));
}

TEST_F(SecretFileTest, MissingAndHugeFilesAreNamed) {
  EXPECT_THAT(ReadSecretFile(path_).status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(path_)));
  ASSERT_OK(WriteSecretFile(path_, std::string(kMaxSecretFileBytes + 1, 'x')));
  EXPECT_THAT(ReadSecretFile(path_).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("more than")));
}

TEST_F(SecretFileTest, AMissingFolderIsNamed) {
  EXPECT_THAT(WriteSecretFile("/no/such/folder/key", "x"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/no/such/folder")));
}

}  // namespace
}  // namespace accel::security
