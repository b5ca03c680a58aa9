// The users behind the connections of a store (docs/decisions/0085).
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <cstdint>
#include <utility>

#include "absl/status/statusor.h"
#include "common/unique_fd.h"
#include "rendezvous/peer_filter.h"

namespace accel::rendezvous {

// Asks the kernel which user has the other end of a connection, if that end is on this host. Not
// thread-safe.
class PeerUsers {
 public:
  // Makes an object that admits processes of this process's user and of root, and all peers on
  // other hosts. `listen_socket` is the store's socket. Errors:
  //
  // * InvalidArgument: the socket has no IPv4 or IPv6 address.
  // * NotFound: the kernel does not find the socket, because it cannot monitor TCP sockets.
  // * Internal: the kernel's answer is not understood.
  // * The code of the errno of the system call that failed, for all others.
  static absl::StatusOr<PeerUsers> Make(int listen_socket);

  PeerUsers(PeerUsers&&) = default;

  enum class Verdict {
    kAdmitted,  // This user or root has the other end, or its address is not of this host.
    kForeign,   // A process of another user on this host has the other end.
    kGone,      // The other end is on this host, and the kernel does not tell its user.
  };
  // Judges an accepted connection, whose peer has the address `peer`.
  Verdict Judge(const sockaddr_storage& peer, int connection);

 private:
  PeerUsers(common::UniqueFd netlink, PeerFilter loopback, PeerFilter own)
      : netlink_(std::move(netlink)), loopback_(std::move(loopback)), own_(std::move(own)) {}

  common::UniqueFd netlink_;
  PeerFilter loopback_;
  PeerFilter own_;  // The addresses that this host had in Make().
  uint32_t sequence_ = 0;
};

}  // namespace accel::rendezvous
