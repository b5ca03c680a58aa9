#include "cli/coordinator_client.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <thread>

#include "absl/strings/str_cat.h"
#include "cli/fake_coordinator.h"
#include "common/status_matchers.h"
#include "common/unique_fd.h"

namespace accel::cli {
namespace {

// Listens on a loopback port that the kernel chooses. Returns the socket and the port.
std::pair<common::UniqueFd, int> Listen() {
  common::UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const bare = reinterpret_cast<sockaddr*>(&address);
  EXPECT_EQ(::bind(listener.get(), bare, size), 0);
  EXPECT_EQ(::listen(listener.get(), 1), 0);
  EXPECT_EQ(::getsockname(listener.get(), bare, &size), 0);
  return {std::move(listener), ntohs(address.sin_port)};
}

// Simulates a tunnel to another continent: the connection is accepted immediately, but no bytes
// arrive for a while.
TEST(CoordinatorClientTest, AFarCoordinatorIsWaitedFor) {
  constexpr int kWayMs = 400;
  FakeCoordinator coordinator;
  auto [listener, port] = Listen();
  std::thread way([&, &listener = listener] {
    const int connection =
        ::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    pollfd given_up{.fd = connection, .events = POLLRDHUP, .revents = 0};
    EXPECT_EQ(::poll(&given_up, 1, kWayMs), 0) << "the client has hung up";
    coordinator.Serve(connection);
  });
  const auto client =
      CoordinatorClient::Connect(absl::StrCat("127.0.0.1:", port), FakeCoordinator::kToken);
  ASSERT_OK(client.status());
  EXPECT_OK((*client)->ListNodes().status());
  way.join();
}

}  // namespace
}  // namespace accel::cli
