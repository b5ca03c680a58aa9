#include "coordinator/gate/tcp_options.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace accel::coordinator {
namespace {

constexpr int kKeepaliveSeconds = 10;
constexpr int kKeepaliveTimeoutSeconds = 5;

void Set(int fd, int level, int option, int value) {
  setsockopt(fd, level, option, &value, sizeof(value));
}

}  // namespace

void SetTcpOptions(int listener) {
  Set(listener, IPPROTO_TCP, TCP_NODELAY, 1);
  Set(listener, SOL_SOCKET, SO_KEEPALIVE, 1);
  Set(listener, IPPROTO_TCP, TCP_KEEPIDLE, kKeepaliveSeconds);
  Set(listener, IPPROTO_TCP, TCP_KEEPINTVL, kKeepaliveTimeoutSeconds);
  Set(listener, IPPROTO_TCP, TCP_KEEPCNT, 1);
  // Detects in the same time a peer that does not acknowledge data.
  Set(listener, IPPROTO_TCP, TCP_USER_TIMEOUT,
      1000 * (kKeepaliveSeconds + kKeepaliveTimeoutSeconds));
}

}  // namespace accel::coordinator
