#include "coordinator/acceptor.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "common/status_matchers.h"
#include "coordinator/listener.h"

namespace accel::coordinator {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

common::UniqueFd Connect(int port) {
  common::UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<in_port_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (!fd.valid()) return fd;
  EXPECT_EQ(connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  return fd;
}

// Returns true if the peer closes the connection. Returns false if the acceptor hands it over,
// which `taken` counts.
bool IsClosed(int fd) {
  pollfd end{fd, POLLIN, 0};
  char byte;
  return poll(&end, 1, 0) == 1 && recv(fd, &byte, 1, 0) <= 0;
}

class AcceptorTest : public ::testing::Test {
 protected:
  void Begin(int first_refused) {
    auto listener = ListenOn({"127.0.0.1", "0"});
    ASSERT_OK(listener);
    port_ = listener->port;
    acceptor_ = std::make_unique<Acceptor>(std::move(listener->sockets), first_refused,
                                           [this](common::UniqueFd fd) {
                                             absl::MutexLock lock(&mutex_);
                                             taken_.push_back(std::move(fd));
                                           });
  }

  void WaitForTaken(size_t count) {
    const auto enough = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return taken_.size() >= count;
    };
    absl::MutexLock lock(&mutex_);
    EXPECT_TRUE(mutex_.AwaitWithTimeout(absl::Condition(&enough), absl::Seconds(60)));
  }

  size_t taken() {
    absl::MutexLock lock(&mutex_);
    return taken_.size();
  }

  void CloseTaken() {
    absl::MutexLock lock(&mutex_);
    taken_.clear();
  }

  int port_ = 0;
  absl::Mutex mutex_;
  std::vector<common::UniqueFd> taken_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<Acceptor> acceptor_;
};

TEST_F(AcceptorTest, APeerWhoseMachineIsGoneIsDetectedAfter15Seconds) {
  Begin(/*first_refused=*/1000);
  const common::UniqueFd client = Connect(port_);
  WaitForTaken(1);
  absl::MutexLock lock(&mutex_);
  const auto option = [this](int level, int name) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    int value = 0;
    socklen_t size = sizeof(value);
    getsockopt(taken_.front().get(), level, name, &value, &size);
    return value;
  };
  EXPECT_EQ(option(SOL_SOCKET, SO_KEEPALIVE), 1);
  EXPECT_EQ(option(IPPROTO_TCP, TCP_KEEPIDLE) +
                option(IPPROTO_TCP, TCP_KEEPINTVL) * option(IPPROTO_TCP, TCP_KEEPCNT),
            15);
  EXPECT_EQ(option(IPPROTO_TCP, TCP_USER_TIMEOUT), 15'000);
}

TEST_F(AcceptorTest, HandsOverNonBlockingConnections) {
  Begin(1000);
  const common::UniqueFd client = Connect(port_);
  WaitForTaken(1);
  absl::MutexLock lock(&mutex_);
  EXPECT_NE(fcntl(taken_[0].get(), F_GETFL) & O_NONBLOCK, 0);
  EXPECT_NE(fcntl(taken_[0].get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST_F(AcceptorTest, OverTheBoundAConnectionIsClosedAndLaterOnesAreServed) {
  constexpr int kBound = 100;
  Begin(kBound);
  std::vector<common::UniqueFd> clients;
  // Both ends of each connection are in this process, so the server has about half of the
  // descriptors below the bound.
  while (clients.empty() || !IsClosed(clients.back().get())) {
    ASSERT_LT(clients.size(), size_t{kBound});
    const size_t before = taken();
    clients.push_back(Connect(port_));
    pollfd end{clients.back().get(), POLLIN, 0};
    while (taken() == before && poll(&end, 1, 1) == 0) {
    }
  }
  EXPECT_GT(taken(), 10u);
  clients.clear();
  CloseTaken();
  const common::UniqueFd client = Connect(port_);
  WaitForTaken(1);
  EXPECT_FALSE(IsClosed(client.get()));
}

TEST_F(AcceptorTest, WithoutAnyFreeDescriptorConnectionsWaitAndAreServedLater) {
  Begin(1000);
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  limit.rlim_cur = 200;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  std::vector<common::UniqueFd> files;
  do {
    files.emplace_back(open("/dev/null", O_RDONLY | O_CLOEXEC));
  } while (files.back().valid());
  ASSERT_EQ(errno, EMFILE);
  files.pop_back();
  files.pop_back();
  // The client has the last free descriptor. The kernel completes the connection by itself.
  const common::UniqueFd client = Connect(port_);
  ASSERT_TRUE(client.valid());
  EXPECT_EQ(taken(), 0u);
  files.clear();
  WaitForTaken(1);
  EXPECT_FALSE(IsClosed(client.get()));
}

TEST(FirstRefusedDescriptorTest, LeavesAReserve) {
  EXPECT_EQ(FirstRefusedDescriptor(128), 96);
  EXPECT_EQ(FirstRefusedDescriptor(1024), 960);
  EXPECT_EQ(FirstRefusedDescriptor(1 << 20), 32'768);
}

TEST(ListenerTest, ListensOnEveryAddressOfTheHost) {
  const auto listener = ListenOn({"localhost", "0"});
  ASSERT_OK(listener);
  EXPECT_GT(listener->port, 0);
  EXPECT_TRUE(Connect(listener->port).valid());
}

TEST(ListenerTest, SaysWhatIsWrong) {
  const auto first = ListenOn({"127.0.0.1", "0"});
  ASSERT_OK(first);
  EXPECT_THAT(ListenOn({"127.0.0.1", std::to_string(first->port)}),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("already in use")));
  EXPECT_THAT(ListenOn({"203.0.113.1", "0"}),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("Cannot assign")));
}

}  // namespace
}  // namespace accel::coordinator
