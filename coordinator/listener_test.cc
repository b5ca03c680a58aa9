#include "coordinator/listener.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <string>

#include "common/status_matchers.h"

namespace accel::coordinator {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

TEST(ListenerTest, ListensOnEveryAddressOfTheHost) {
  const auto listener = ListenOn({"localhost", "0"});
  ASSERT_OK(listener);
  EXPECT_GT(listener->port, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<in_port_t>(listener->port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const common::UniqueFd client(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(connect(client.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
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
