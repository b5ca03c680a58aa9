#include "runtime/comm/local_address.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <stdexcept>

namespace accel::runtime {
namespace {

// Returns the source address that the kernel chooses for a datagram socket connected to `peer`, or
// an empty string if there is no route.
std::string source_address(const addrinfo& peer) {
  const int fd = socket(peer.ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return "";
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  char text[NI_MAXHOST] = "";
  if (connect(fd, peer.ai_addr, peer.ai_addrlen) == 0 &&
      getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0) {
    getnameinfo(reinterpret_cast<sockaddr*>(&address), size, text, sizeof text, nullptr, 0,
                NI_NUMERICHOST);
  }
  close(fd);
  return text;
}

}  // namespace

std::string local_address_towards(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  // Any port will do, because the route does not depend on it.
  if (const int error = getaddrinfo(host.c_str(), "9", &hints, &found); error != 0) {
    throw std::runtime_error("cannot resolve MASTER_ADDR " + host + ": " + gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owned(found, &freeaddrinfo);
  for (const addrinfo* peer = found; peer != nullptr; peer = peer->ai_next) {
    if (std::string address = source_address(*peer); !address.empty()) return address;
  }
  throw std::runtime_error("there is no route from this machine to MASTER_ADDR " + host);
}

}  // namespace accel::runtime
