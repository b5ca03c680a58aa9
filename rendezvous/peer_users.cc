// The users of peers, from the kernel's interface sock_diag(7). A request names a socket by its two
// addresses, and the answer has the user of that socket. The socket of the peer has the addresses
// of the connection in reverse. send() puts the answer into the netlink socket before it returns,
// so nothing here waits.
//
// The kernel may not find a socket of this host. One reason is that a process has bound it to an
// interface. Another is that it was reset, although it has sent bytes. A peer with an address of
// this host is therefore admitted only if its socket is found.
#include "rendezvous/peer_users.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "common/status_macros.h"

namespace accel::rendezvous {
namespace {

struct Request {
  nlmsghdr header;
  inet_diag_req_v2 socket;
};

struct Answer {
  nlmsghdr header;
  union {
    inet_diag_msg socket;
    nlmsgerr error;
  };
  char attributes[256];  // Not asked for. Longer ones are cut.
};

// The address of one end of a connection, in the form of inet_diag_sockid.
struct End {
  uint32_t address[4] = {};
  uint16_t port = 0;       // In network byte order.
  uint32_t interface = 0;  // Set if the address is link-local.
};

End EndOf(const sockaddr_storage& address) {
  End end;
  if (address.ss_family == AF_INET) {
    const auto& ipv4 = reinterpret_cast<const sockaddr_in&>(address);
    std::memcpy(end.address, &ipv4.sin_addr, sizeof(ipv4.sin_addr));
    end.port = ipv4.sin_port;
  } else {
    const auto& ipv6 = reinterpret_cast<const sockaddr_in6&>(address);
    std::memcpy(end.address, &ipv6.sin6_addr, sizeof(ipv6.sin6_addr));
    end.port = ipv6.sin6_port;
    end.interface = ipv6.sin6_scope_id;
  }
  return end;
}

Request MakeRequest(sa_family_t family, const End& of, const End& to) {
  Request request = {};
  request.header.nlmsg_len = sizeof(request);
  request.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  request.header.nlmsg_flags = NLM_F_REQUEST;
  request.socket.sdiag_family = static_cast<uint8_t>(family);
  request.socket.sdiag_protocol = IPPROTO_TCP;
  request.socket.idiag_states = ~0U;
  inet_diag_sockid& id = request.socket.id;
  id.idiag_sport = of.port;
  id.idiag_dport = to.port;
  std::memcpy(id.idiag_src, of.address, sizeof(id.idiag_src));
  std::memcpy(id.idiag_dst, to.address, sizeof(id.idiag_dst));
  id.idiag_if = of.interface;
  id.idiag_cookie[0] = id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  return request;
}

// Returns the kernel's answer about a socket. NotFound: the kernel finds no socket with these
// addresses. Internal: the answer is not understood. Other errors have the code of the errno.
absl::StatusOr<inet_diag_msg> Ask(int netlink, Request request, uint32_t sequence) {
  request.header.nlmsg_seq = sequence;
  if (send(netlink, &request, sizeof(request), 0) != sizeof(request)) {
    return absl::ErrnoToStatus(errno, "asking for the user of a connection");
  }
  Answer answer = {};
  ssize_t size = 0;
  do {  // Skips answers to earlier requests, which an error may have left unread.
    size = recv(netlink, &answer, sizeof(answer), MSG_DONTWAIT);
    if (size < 0) return absl::ErrnoToStatus(errno, "reading the user of a connection");
  } while (answer.header.nlmsg_seq != sequence);
  const auto bytes = static_cast<size_t>(size);
  if (answer.header.nlmsg_type == NLMSG_ERROR && bytes >= NLMSG_LENGTH(sizeof(nlmsgerr))) {
    return absl::ErrnoToStatus(-answer.error.error, "finding the user of a connection");
  }
  if (answer.header.nlmsg_type != SOCK_DIAG_BY_FAMILY ||
      bytes < NLMSG_LENGTH(sizeof(inet_diag_msg))) {
    return absl::InternalError("the kernel's answer about a connection is not understood");
  }
  return answer.socket;
}

absl::StatusOr<sockaddr_storage> LocalAddress(int socket) {
  sockaddr_storage address = {};
  socklen_t length = sizeof(address);
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    return absl::ErrnoToStatus(errno, "getsockname");
  }
  if (address.ss_family == AF_INET || address.ss_family == AF_INET6) return address;
  return absl::InvalidArgumentError("the store's socket has no IPv4 or IPv6 address");
}

// Returns the numeric addresses of all interfaces.
absl::StatusOr<std::vector<std::string>> OwnAddresses() {
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return absl::ErrnoToStatus(errno, "getifaddrs");
  std::vector<std::string> addresses;
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr) continue;
    const int family = one->ifa_addr->sa_family;
    char text[INET6_ADDRSTRLEN];
    const void* address = nullptr;
    if (family == AF_INET) {
      address = &reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr;
    } else if (family == AF_INET6) {
      address = &reinterpret_cast<const sockaddr_in6*>(one->ifa_addr)->sin6_addr;
    }
    if (address != nullptr && inet_ntop(family, address, text, sizeof(text)) != nullptr) {
      addresses.emplace_back(text);
    }
  }
  freeifaddrs(all);
  return addresses;
}

}  // namespace

absl::StatusOr<PeerUsers> PeerUsers::Make(int listen_socket) {
  common::UniqueFd netlink(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  if (!netlink.valid()) return absl::ErrnoToStatus(errno, "socket(NETLINK_SOCK_DIAG)");
  // Without the kernel module for TCP, the kernel answers that no such socket exists. A question
  // about the listening socket, which exists, detects this.
  ACCEL_ASSIGN_OR_RETURN(const sockaddr_storage own, LocalAddress(listen_socket));
  const Request about_own = MakeRequest(own.ss_family, EndOf(own), End());
  ACCEL_RETURN_IF_ERROR(Ask(netlink.get(), about_own, /*sequence=*/0).status());
  ACCEL_ASSIGN_OR_RETURN(const std::vector<std::string> addresses, OwnAddresses());
  ACCEL_ASSIGN_OR_RETURN(PeerFilter own_filter, PeerFilter::Make(addresses));
  ACCEL_ASSIGN_OR_RETURN(PeerFilter loopback, PeerFilter::Make({}));
  return PeerUsers(std::move(netlink), std::move(loopback), std::move(own_filter));
}

PeerUsers::Verdict PeerUsers::Judge(const sockaddr_storage& peer, int connection) {
  const absl::StatusOr<sockaddr_storage> own = LocalAddress(connection);
  if (!own.ok()) return Verdict::kGone;
  const End from = EndOf(peer), to = EndOf(*own);
  const auto socket = Ask(netlink_.get(), MakeRequest(peer.ss_family, from, to), ++sequence_);
  // If the connection does not exist, the kernel may answer with a socket that listens on
  // the peer's port.
  if (!socket.ok() || socket->idiag_state == TCP_LISTEN) {
    const bool is_here = loopback_.Allows(peer) || own_.Allows(peer) ||
                         std::memcmp(from.address, to.address, sizeof(from.address)) == 0;
    return is_here ? Verdict::kGone : Verdict::kAdmitted;
  }
  // The kernel shows a closed socket as root's.
  if (socket->idiag_inode == 0) return Verdict::kGone;
  const bool admitted = socket->idiag_uid == geteuid() || socket->idiag_uid == 0;
  return admitted ? Verdict::kAdmitted : Verdict::kForeign;
}

}  // namespace accel::rendezvous
