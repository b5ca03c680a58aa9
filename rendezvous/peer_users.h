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
  // Makes an object that admits processes of this process's user and of root. `listen_socket` is
  // the store's, which has an IPv4 or IPv6 address. Otherwise returns the code of the errno of the
  // call that failed, such as NotFound if the kernel has no socket monitoring of TCP.
  static absl::StatusOr<PeerUsers> Make(int listen_socket);

  PeerUsers(PeerUsers&&) = default;

  enum class Verdict {
    kAdmitted,  // Also if the peer is on another host or in another network namespace.
    kForeign,   // A process of another user on this host has the other end.
    kGone,      // The other end is on this host, and nobody can tell whose it is or was.
  };
  // Judges an accepted connection, which comes from `peer`.
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
