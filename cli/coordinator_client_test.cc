#include "cli/coordinator_client.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "cli/fake_coordinator.h"
#include "common/status_matchers.h"
#include "common/unique_fd.h"

namespace accel::cli {
namespace {

// Listens at the path of a Unix socket.
common::UniqueFd ListenAt(const std::string& path) {
  common::UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  EXPECT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(::listen(listener.get(), 1), 0);
  return listener;
}

// Simulates a tunnel to another continent: the connection is accepted immediately, but no bytes
// arrive for a while.
TEST(CoordinatorClientTest, AFarCoordinatorIsWaitedFor) {
  constexpr int kWayMs = 400;
  FakeCoordinator coordinator;
  const std::string path = absl::StrCat(absl::StripPrefix(coordinator.address(), "unix:"), ".far");
  const common::UniqueFd listener = ListenAt(path);
  std::thread way([&] {
    const int connection =
        ::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    pollfd given_up{.fd = connection, .events = POLLRDHUP, .revents = 0};
    EXPECT_EQ(::poll(&given_up, 1, kWayMs), 0) << "the client has hung up";
    coordinator.Serve(connection);
  });
  const auto client = CoordinatorClient::Connect("unix:" + path);
  ASSERT_OK(client.status());
  EXPECT_OK((*client)->ListNodes().status());
  way.join();
}

}  // namespace
}  // namespace accel::cli
