#include "common/service_notify.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <string>

#include "common/unique_fd.h"

namespace accel::common {
namespace {

// A service manager's socket at `address`.
UniqueFd Listen(const std::string& address) {
  UniqueFd fd(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_un at = {};
  at.sun_family = AF_UNIX;
  std::memcpy(at.sun_path, address.data(), address.size());
  if (address[0] == '@') at.sun_path[0] = '\0';
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address.size());
  EXPECT_EQ(bind(fd.get(), reinterpret_cast<sockaddr*>(&at), length), 0) << address;
  return fd;
}

TEST(ServiceNotify, SendsOneDatagramToTheManager) {
  const std::string name = "/accel_notify_" + std::to_string(getpid());
  for (const std::string& address : {"/tmp" + name, "@" + name}) {
    const UniqueFd manager = Listen(address);
    setenv("NOTIFY_SOCKET", address.c_str(), 1);
    const ServiceNotify notify;
    EXPECT_EQ(getenv("NOTIFY_SOCKET"), nullptr);
    EXPECT_TRUE(notify.Ready("serves 127.0.0.1:1"));
    char got[100] = {};
    EXPECT_GT(recv(manager.get(), got, sizeof(got) - 1, MSG_DONTWAIT), 0);
    EXPECT_STREQ(got, "READY=1\nSTATUS=serves 127.0.0.1:1\n");
    unlink(address.c_str());
  }
}

TEST(ServiceNotify, WithoutAManagerNothingIsSent) {
  EXPECT_FALSE(ServiceNotify().Ready("x"));
  for (const std::string& address :
       {std::string("relative"), std::string("/tmp/no-such-socket"), std::string(300, '/')}) {
    setenv("NOTIFY_SOCKET", address.c_str(), 1);
    EXPECT_FALSE(ServiceNotify().Ready("x")) << address;
  }
}

}  // namespace
}  // namespace accel::common
