#include "coordinator/unix_listener.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "common/status_matchers.h"

namespace accel::coordinator {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

bool Connects(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  const common::UniqueFd client(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return connect(client.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
}

mode_t ModeOf(const std::string& path) {
  struct stat info {};
  EXPECT_EQ(stat(path.c_str(), &info), 0);
  return info.st_mode & 07777;
}

class UnixListenerTest : public ::testing::Test {
 protected:
  UnixListenerTest() {
    // Not the test's own folder, whose path may be too long for a socket.
    char name[] = "/tmp/unix_listener.XXXXXX";
    EXPECT_NE(mkdtemp(name), nullptr);
    folder_ = name;
    path_ = absl::StrCat(folder_, "/accel/coordinator");
  }
  ~UnixListenerTest() override {
    for (const char* name : {"/accel/coordinator", "/accel/coordinator.lock", "/accel", ""}) {
      remove(absl::StrCat(folder_, name).c_str());
    }
  }

  std::string folder_;
  std::string path_;
};

TEST_F(UnixListenerTest, MakesItsFolderAndRemovesItsSocket) {
  {
    const auto listener = UnixListener::Open(path_);
    ASSERT_OK(listener);
    EXPECT_TRUE(Connects(path_));
    EXPECT_EQ(ModeOf(path_), 0666u);
    EXPECT_EQ(ModeOf(absl::StrCat(folder_, "/accel")), geteuid() == 0 ? 0755u : 0700u);
  }
  EXPECT_NE(access(path_.c_str(), F_OK), 0);
}

TEST_F(UnixListenerTest, TwoCoordinatorsCannotShareAPath) {
  const auto first = UnixListener::Open(path_);
  ASSERT_OK(first);
  EXPECT_THAT(UnixListener::Open(path_), StatusIs(absl::StatusCode::kFailedPrecondition,
                                                  HasSubstr("another coordinator (process")));
  EXPECT_TRUE(Connects(path_));
}

TEST_F(UnixListenerTest, ReplacesTheSocketOfACoordinatorThatWasKilled) {
  ASSERT_EQ(mkdir(absl::StrCat(folder_, "/accel").c_str(), 0700), 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path_.data(), path_.size());
  common::UniqueFd killed(socket(AF_UNIX, SOCK_STREAM, 0));
  ASSERT_EQ(bind(killed.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  killed.reset();
  ASSERT_FALSE(Connects(path_));
  const auto listener = UnixListener::Open(path_);
  ASSERT_OK(listener);
  EXPECT_TRUE(Connects(path_));
}

TEST_F(UnixListenerTest, ReplacesNoOtherFile) {
  ASSERT_EQ(mkdir(absl::StrCat(folder_, "/accel").c_str(), 0700), 0);
  std::ofstream(path_) << "notes";
  EXPECT_FALSE(UnixListener::Open(path_).ok());
  EXPECT_EQ(access(path_.c_str(), F_OK), 0);
}

TEST_F(UnixListenerTest, RefusesAFolderThatOthersCanWriteTo) {
  ASSERT_EQ(mkdir(absl::StrCat(folder_, "/accel").c_str(), 0700), 0);
  ASSERT_EQ(chmod(absl::StrCat(folder_, "/accel").c_str(), 0777), 0);
  EXPECT_THAT(UnixListener::Open(path_),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("chmod go-w")));
}

}  // namespace
}  // namespace accel::coordinator
