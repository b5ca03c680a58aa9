#include "common/socket_folder.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "common/status_matchers.h"

namespace accel::common {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

class SocketFolderTest : public ::testing::Test {
 protected:
  SocketFolderTest() {
    std::string name = absl::StrCat(::testing::TempDir(), "/socket_folder.XXXXXX");
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }

  std::string folder_;
};

TEST_F(SocketFolderTest, AcceptsAPrivateFolderAndOneThatOthersCanRead) {
  EXPECT_OK(CheckSocketFolder(absl::StrCat(folder_, "/coordinator")));
  ASSERT_EQ(chmod(folder_.c_str(), 0755), 0);
  EXPECT_OK(CheckSocketFolder(absl::StrCat(folder_, "/coordinator")));
}

TEST_F(SocketFolderTest, RefusesAFolderThatOthersCanWriteTo) {
  for (const mode_t mode : {0775, 0757, 01777}) {
    ASSERT_EQ(chmod(folder_.c_str(), mode), 0);
    EXPECT_THAT(CheckSocketFolder(absl::StrCat(folder_, "/coordinator")),
                StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("chmod go-w")));
  }
}

TEST_F(SocketFolderTest, RefusesAFolderOfAnotherUser) {
  if (chown(folder_.c_str(), 4711, 4711) != 0) GTEST_SKIP() << "this user cannot give folders away";
  EXPECT_THAT(CheckSocketFolder(absl::StrCat(folder_, "/coordinator")),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("another user")));
}

TEST_F(SocketFolderTest, SaysThatThereIsNone) {
  EXPECT_TRUE(absl::IsNotFound(CheckSocketFolder(absl::StrCat(folder_, "/x/coordinator"))));
  EXPECT_FALSE(CheckSocketFolder("/etc/passwd/x").ok());
}

}  // namespace
}  // namespace accel::common
