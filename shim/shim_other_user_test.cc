// Another user of the machine connects to the socket of a shim.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "common/unique_fd.h"
#include "shim/shim_adopt_test_base.h"
#include "shim/shim_program.h"

namespace accel::shim {
namespace {

using State = GenerationReport::State;

constexpr uid_t kOtherUser = 65'534;

enum Outcome { kClosedWithoutAWord, kAnswered, kNotConnected, kNotTheOtherUser };

// Connects as another user to the socket in the folder, and reads. Runs in a process of its own.
Outcome ConnectAsAnother(int folder) {
  if (fchdir(folder) != 0) return kNotConnected;
  if (setresuid(kOtherUser, kOtherUser, kOtherUser) != 0) return kNotTheOtherUser;
  const int connection = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, kShimSocketName, sizeof(address.sun_path) - 1);
  if (connect(connection, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return kNotConnected;
  }
  char byte = 0;
  const ssize_t got = recv(connection, &byte, 1, 0);
  return got == 0 || (got < 0 && errno == ECONNRESET) ? kClosedWithoutAWord : kAnswered;
}

class ShimOtherUserTest : public ShimAdoptTest {};

TEST_F(ShimOtherUserTest, IsNotListenedTo) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can act as another user";
  const auto start = Kept("while [ ! -e go ]; do sleep 0.01; done");
  Start(start);
  AwaitState(kJob, State::kRunning);
  const std::string path = shims_dir() + "/job";
  const common::UniqueFd opened(open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  ASSERT_TRUE(opened.valid()) << path;
  // The modes alone already keep others out. This is about what is left if they do not.
  ASSERT_EQ(fchmodat(opened.get(), ".", 0755, 0), 0);
  ASSERT_EQ(fchmodat(opened.get(), kShimSocketName, 0777, 0), 0);
  const pid_t other = fork();
  if (other == 0) _exit(ConnectAsAnother(opened.get()));
  int status = 0;
  ASSERT_EQ(waitpid(other, &status, 0), other);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), kClosedWithoutAWord);
  Touch("go");
  EXPECT_FALSE(AwaitState(kJob, State::kEnded).failure.has_value());
  EndShim(kJob);
}

}  // namespace
}  // namespace accel::shim
