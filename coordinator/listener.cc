#include "coordinator/listener.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/ip_address.h"
#include "common/status_macros.h"

namespace accel::coordinator {
namespace {

// The kernel uses net.core.somaxconn if that is less.
constexpr int kBacklog = 65'535;

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

absl::Status CannotListen(const common::HostPort& address, absl::string_view why) {
  return absl::UnavailableError(absl::StrCat(
      "cannot listen on ", common::JoinHostPort(address.host, address.port), " (", why, ")"));
}

absl::StatusOr<Addresses> Resolve(const common::HostPort& address) {
  addrinfo wish{};
  wish.ai_family = AF_UNSPEC;
  wish.ai_socktype = SOCK_STREAM;
  wish.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(address.host.c_str(), address.port.c_str(), &wish, &found);
  if (error != 0) return CannotListen(address, gai_strerror(error));
  return Addresses(found, freeaddrinfo);
}

void SetPort(int port, sockaddr* address) {
  const in_port_t bytes = htons(static_cast<in_port_t>(port));
  if (address->sa_family == AF_INET) reinterpret_cast<sockaddr_in*>(address)->sin_port = bytes;
  if (address->sa_family == AF_INET6) reinterpret_cast<sockaddr_in6*>(address)->sin6_port = bytes;
}

int PortOf(int fd) {
  sockaddr_storage own{};
  socklen_t size = sizeof(own);
  getsockname(fd, reinterpret_cast<sockaddr*>(&own), &size);
  return ntohs(own.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&own)->sin6_port
                                         : reinterpret_cast<sockaddr_in*>(&own)->sin_port);
}

// Returns a listening socket, or an invalid descriptor with the reason in errno.
common::UniqueFd Listen(const addrinfo& address) {
  common::UniqueFd fd(
      socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP));
  if (!fd.valid()) return fd;
  const int on = 1;
  // With SO_REUSEADDR, a port with connections in TIME_WAIT can be bound, so that a coordinator can
  // restart immediately. A port with a listener still cannot.
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (address.ai_family == AF_INET6) {
    setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
  }
  if (bind(fd.get(), address.ai_addr, address.ai_addrlen) == 0 && listen(fd.get(), kBacklog) == 0) {
    return fd;
  }
  return common::UniqueFd();
}

}  // namespace

absl::StatusOr<Listener> ListenOn(const common::HostPort& address) {
  ACCEL_ASSIGN_OR_RETURN(const Addresses addresses, Resolve(address));
  Listener listener;
  int error = 0;
  for (addrinfo* each = addresses.get(); each != nullptr; each = each->ai_next) {
    if (listener.port != 0) SetPort(listener.port, each->ai_addr);
    common::UniqueFd fd = Listen(*each);
    if (!fd.valid()) {
      error = errno;
      // "localhost" may stand for ::1 on a machine without IPv6.
      if (error == EADDRNOTAVAIL || error == EAFNOSUPPORT) continue;
      return CannotListen(address, std::strerror(error));
    }
    listener.port = PortOf(fd.get());
    listener.sockets.push_back(std::move(fd));
  }
  if (listener.sockets.empty()) return CannotListen(address, std::strerror(error));
  return listener;
}

}  // namespace accel::coordinator
