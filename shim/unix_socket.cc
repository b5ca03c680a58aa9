#include "shim/unix_socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "absl/strings/str_cat.h"

namespace accel::shim {
namespace {

// Maximum number of connections that wait for accept(). Enough for an agent, and for agents that
// replace one another quickly.
constexpr int kBacklog = 8;

// Returns the address of `name` in the folder. The path fits, because `name` is always one of
// accel's short constants.
sockaddr_un AddressIn(int folder, const std::string& name) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const std::string path = absl::StrCat("/proc/self/fd/", folder, "/", name);
  strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  return address;
}

std::optional<uid_t> UserOfPeer(int socket) {
  ucred peer = {};
  socklen_t size = sizeof(peer);
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return std::nullopt;
  return peer.uid;
}

common::UniqueFd NewSocket() {
  return common::UniqueFd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

}  // namespace

absl::StatusOr<common::UniqueFd> ListenIn(int folder, const std::string& name) {
  common::UniqueFd listener = NewSocket();
  const sockaddr_un address = AddressIn(folder, name);
  unlinkat(folder, name.c_str(), 0);
  if (!listener.valid() ||
      bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      listen(listener.get(), kBacklog) != 0) {
    return absl::ErrnoToStatus(errno, "Cannot make a listening socket for accel-shim");
  }
  return listener;
}

absl::StatusOr<common::UniqueFd> ConnectIn(int folder, const std::string& name) {
  common::UniqueFd connection = NewSocket();
  const sockaddr_un address = AddressIn(folder, name);
  if (!connection.valid()) return absl::ErrnoToStatus(errno, "Cannot make a socket");
  if (connect(connection.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) !=
      0) {
    const int error = errno;
    if (error == ECONNREFUSED || error == ENOENT) {
      return absl::NotFoundError("No process listens on the socket of accel-shim.");
    }
    return absl::InternalError(absl::StrCat("Cannot connect to accel-shim: ", strerror(error)));
  }
  if (!PeerIsThisUser(connection.get())) {
    return absl::PermissionDeniedError("The shim's socket belongs to another user.");
  }
  return connection;
}

bool PeerIsThisUser(int socket) { return UserOfPeer(socket) == geteuid(); }

bool PeerMayCommand(int socket) {
  const std::optional<uid_t> user = UserOfPeer(socket);
  return user == geteuid() || user == uid_t{0};
}

}  // namespace accel::shim
