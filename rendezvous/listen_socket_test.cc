#include "rendezvous/listen_socket.h"

#include <fcntl.h>
#include <sys/socket.h>

#include "common/status_matchers.h"

namespace accel::rendezvous {
namespace {

using ::accel::testing::StatusIs;
using ::testing::_;
using ::testing::HasSubstr;

TEST(ListenSocketTest, ListensOnAFreePort) {
  const auto first = ListenOn("127.0.0.1");
  const auto second = ListenOn("127.0.0.1");
  ASSERT_OK(first);
  ASSERT_OK(second);
  ASSERT_OK(PortOf(*first));
  EXPECT_GT(*PortOf(*first), 0);
  EXPECT_NE(*PortOf(*first), *PortOf(*second));
  int listening = 0;
  socklen_t length = sizeof(listening);
  ASSERT_EQ(getsockopt(first->get(), SOL_SOCKET, SO_ACCEPTCONN, &listening, &length), 0);
  EXPECT_EQ(listening, 1);
  EXPECT_TRUE(fcntl(first->get(), F_GETFD) & FD_CLOEXEC);
  EXPECT_TRUE(fcntl(first->get(), F_GETFL) & O_NONBLOCK);
}

TEST(ListenSocketTest, APortInUseIsAlreadyExists) {
  const auto first = ListenOn("127.0.0.1");
  ASSERT_OK(first);
  const uint16_t port = *PortOf(*first);
  EXPECT_THAT(ListenOn("127.0.0.1", port),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr(std::to_string(port))));
}

TEST(ListenSocketTest, AChosenPortCanBeReusedImmediately) {
  auto first = ListenOn("127.0.0.1");
  ASSERT_OK(first);
  const uint16_t port = *PortOf(*first);
  first->reset();
  const auto again = ListenOn("127.0.0.1", port);
  ASSERT_OK(again);
  EXPECT_EQ(*PortOf(*again), port);
}

TEST(ListenSocketTest, RefusesNamesAndForeignAddresses) {
  EXPECT_THAT(ListenOn("localhost"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("numeric")));
  // An address reserved for documentation, which no machine has.
  EXPECT_FALSE(ListenOn("192.0.2.1").ok());
}

TEST(ListenSocketTest, PortOfAnythingButATcpSocketIsAnError) {
  EXPECT_THAT(PortOf(common::UniqueFd()), StatusIs(absl::StatusCode::kInvalidArgument, _));
}

}  // namespace
}  // namespace accel::rendezvous
