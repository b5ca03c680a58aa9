#include "coordinator/gate/peer_credentials.h"

#include <sys/socket.h>

namespace accel::coordinator {

std::optional<uid_t> PeerUid(int fd) {
  ucred credentials{};
  socklen_t size = sizeof(credentials);
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0 ||
      credentials.uid == static_cast<uid_t>(-1)) {
    return std::nullopt;
  }
  return credentials.uid;
}

}  // namespace accel::coordinator
