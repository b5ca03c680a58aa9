#include "rendezvous/listen_socket.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace accel::rendezvous {
namespace {

// The kernel lowers this to net.core.somaxconn.
constexpr int kBacklog = 65535;

}  // namespace

absl::StatusOr<common::UniqueFd> ListenOn(const std::string& address, uint16_t port) {
  sockaddr_storage storage = {};
  auto& ipv4 = reinterpret_cast<sockaddr_in&>(storage);
  auto& ipv6 = reinterpret_cast<sockaddr_in6&>(storage);
  socklen_t length = 0;
  if (inet_pton(AF_INET, address.c_str(), &ipv4.sin_addr) == 1) {
    ipv4.sin_family = AF_INET;
    ipv4.sin_port = htons(port);
    length = sizeof(ipv4);
  } else if (inet_pton(AF_INET6, address.c_str(), &ipv6.sin6_addr) == 1) {
    ipv6.sin6_family = AF_INET6;
    ipv6.sin6_port = htons(port);
    length = sizeof(ipv6);
  } else {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", address, "\" is not a numeric IPv4 or IPv6 address"));
  }
  const std::string what = absl::StrCat("listening on ", address, " port ", port);
  common::UniqueFd fd(socket(storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return absl::ErrnoToStatus(errno, what);
  // With this option, a chosen port can be reused immediately after its previous owner. The option
  // is off for a port that the kernel picks, because no other socket may share such a port.
  const int reuse = port != 0;
  if (setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof(reuse)) != 0 ||
      bind(fd.get(), reinterpret_cast<const sockaddr*>(&storage), length) != 0 ||
      listen(fd.get(), kBacklog) != 0) {
    if (errno == EADDRINUSE) {
      return absl::AlreadyExistsError(absl::StrCat(what, ": the port is taken"));
    }
    return absl::ErrnoToStatus(errno, what);
  }
  return fd;
}

absl::StatusOr<uint16_t> PortOf(const common::UniqueFd& socket) {
  sockaddr_storage storage = {};
  socklen_t length = sizeof(storage);
  if (getsockname(socket.get(), reinterpret_cast<sockaddr*>(&storage), &length) == 0) {
    if (storage.ss_family == AF_INET) {
      return ntohs(reinterpret_cast<const sockaddr_in&>(storage).sin_port);
    }
    if (storage.ss_family == AF_INET6) {
      return ntohs(reinterpret_cast<const sockaddr_in6&>(storage).sin6_port);
    }
  }
  return absl::InvalidArgumentError(absl::StrCat("descriptor ", socket.get(), " is no TCP socket"));
}

}  // namespace accel::rendezvous
