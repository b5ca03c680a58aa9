#include "rendezvous/peer_users.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>
#include <string>

#include "common/status_matchers.h"
#include "common/unique_fd.h"
#include "rendezvous/listen_socket.h"
#include "rendezvous/test_client.h"

namespace accel::rendezvous {
namespace {

using testing::TestClient;
using Verdict = PeerUsers::Verdict;

constexpr uid_t kOther = 12345;

// A store's listening socket, of which each test accepts one connection.
class PeerUsersTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    auto socket = ListenOn(GetParam());
    ASSERT_OK(socket);
    listener_ = std::move(*socket);
    port_ = *PortOf(listener_);
    auto users = PeerUsers::Make(listener_.get());
    ASSERT_OK(users);
    users_.emplace(*std::move(users));
  }

  Verdict JudgeNext() {
    sockaddr_storage peer;
    socklen_t length = sizeof(peer);
    pollfd waits = {.fd = listener_.get(), .events = POLLIN, .revents = 0};
    EXPECT_EQ(poll(&waits, 1, 20'000), 1);
    accepted_.reset(accept(listener_.get(), reinterpret_cast<sockaddr*>(&peer), &length));
    EXPECT_TRUE(accepted_.valid());
    return users_->Judge(peer, accepted_.get());
  }

  common::UniqueFd listener_;
  common::UniqueFd accepted_;
  uint16_t port_ = 0;
  std::optional<PeerUsers> users_;
};

// The second kind of socket sees IPv4 addresses mapped into IPv6.
INSTANTIATE_TEST_SUITE_P(Families, PeerUsersTest, ::testing::Values("0.0.0.0", "::"));

TEST_P(PeerUsersTest, OwnConnectionsAreAdmitted) {
  TestClient client;
  ASSERT_TRUE(client.Connect(port_));
  EXPECT_EQ(JudgeNext(), Verdict::kAdmitted);
  // Also after the client has sent its last byte.
  TestClient finished;
  ASSERT_TRUE(finished.Connect(port_));
  finished.EndSending();
  EXPECT_EQ(JudgeNext(), Verdict::kAdmitted);
}

TEST_P(PeerUsersTest, AConnectionThatIsClosedAlreadyIsNobodys) {
  TestClient client;
  ASSERT_TRUE(client.Connect(port_));
  client.Send("what a stranger sends in a hurry");
  client.Close();
  EXPECT_EQ(JudgeNext(), Verdict::kGone);
}

TEST_P(PeerUsersTest, AnotherUsersConnectionIsForeign) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  int go_on[2];
  ASSERT_EQ(pipe(go_on), 0);
  const pid_t child = fork();
  if (child == 0) {
    close(go_on[1]);
    if (setresuid(kOther, kOther, kOther) != 0) _exit(1);
    char byte;
    TestClient stranger;
    if (!stranger.Connect(port_)) _exit(2);
    _exit(read(go_on[0], &byte, 1) == 0 ? 0 : 3);
  }
  close(go_on[0]);
  EXPECT_EQ(JudgeNext(), Verdict::kForeign);
  close(go_on[1]);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// The kernel forgets a connection that was reset, and the store could still read what it brought.
TEST_P(PeerUsersTest, AConnectionThatWasResetIsNobodys) {
  TestClient client;
  ASSERT_TRUE(client.Connect(port_));
  client.Send("what a stranger sends in a hurry");
  const linger at_once = {.l_onoff = 1, .l_linger = 0};
  ASSERT_EQ(setsockopt(client.fd(), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)), 0);
  client.Close();
  EXPECT_EQ(JudgeNext(), Verdict::kGone);
}

// Any user may bind a socket to an interface, and the kernel finds it only by that interface.
TEST_P(PeerUsersTest, ASocketOfAnInterfaceIsNobodys) {
  TestClient client;
  ASSERT_EQ(setsockopt(client.fd(), SOL_SOCKET, SO_BINDTODEVICE, "lo", sizeof("lo")), 0);
  ASSERT_TRUE(client.Connect(port_));
  EXPECT_EQ(JudgeNext(), Verdict::kGone);
}

// Another user's socket listens on the port of a peer that is on another host.
TEST_P(PeerUsersTest, ASocketThatListensIsNotThePeer) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a socket to another user";
  TestClient client;
  ASSERT_TRUE(client.Connect(port_));
  ASSERT_EQ(JudgeNext(), Verdict::kAdmitted);
  ASSERT_EQ(fchown(listener_.get(), kOther, kOther), 0);
  sockaddr_storage elsewhere = {};
  if (GetParam() == "::") {
    auto& ipv6 = reinterpret_cast<sockaddr_in6&>(elsewhere);
    ipv6.sin6_family = AF_INET6;
    ipv6.sin6_port = htons(port_);
    ASSERT_EQ(inet_pton(AF_INET6, "::ffff:192.0.2.1", &ipv6.sin6_addr), 1);
  } else {
    auto& ipv4 = reinterpret_cast<sockaddr_in&>(elsewhere);
    ipv4.sin_family = AF_INET;
    ipv4.sin_port = htons(port_);
    ASSERT_EQ(inet_pton(AF_INET, "192.0.2.1", &ipv4.sin_addr), 1);
  }
  EXPECT_EQ(users_->Judge(elsewhere, accepted_.get()), Verdict::kAdmitted);
}

TEST(PeerUsers, NeedsAnInternetSocket) {
  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  const common::UniqueFd first(pair[0]), second(pair[1]);
  EXPECT_THAT(PeerUsers::Make(first.get()).status(),
              accel::testing::StatusIs(absl::StatusCode::kInvalidArgument,
                                       ::testing::HasSubstr("no IPv4 or IPv6 address")));
}

}  // namespace
}  // namespace accel::rendezvous
