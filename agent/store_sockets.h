// A pool of spare store sockets. Because these sockets already listen, a plan can name a store's
// address before any worker starts.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/port_range.h"
#include "common/unique_fd.h"
#include "proto/node.pb.h"

namespace accel::agent {

// The pool has two kinds of sockets, in equal numbers. One kind listens on the address by which
// other nodes reach this node. The other kind listens on 127.0.0.1, because a job of one node must
// not be reachable from other hosts (docs/decisions/0057). Not thread-safe.
class StoreSockets {
 public:
  // Opens `size` sockets on `address`. Also opens `size` sockets on 127.0.0.1, unless `address` is
  // 127.0.0.1 itself. Each has a port in `ports`.
  StoreSockets(const std::string& address, size_t size, common::PortRange ports = {});

  std::vector<v1::StoreSocket> List() const;

  // Takes the socket with this id out of the pool. Returns an invalid descriptor if there is none.
  // 0 is never an id.
  common::UniqueFd Take(uint64_t id);

  // Fills the pool up to its size. Returns true if List() or missing() has changed since the last
  // call. If a socket cannot be opened, logs the reason, and the next call tries again.
  bool Refill();

  // Returns why one kind has no socket at all, which keeps the node from starting jobs. Empty if
  // there is at least one socket of each kind. Updated by Refill().
  const std::string& missing() const { return missing_; }

 private:
  struct Socket {
    common::UniqueFd fd;
    std::string address;
    int port = 0;
  };

  size_t CountOn(const std::string& address) const;
  absl::Status Add(const std::string& address);
  absl::StatusOr<common::UniqueFd> Listen(const std::string& address) const;

  std::vector<std::string> addresses_;  // One for each kind.
  const size_t size_;                   // Number of sockets of each kind.
  const common::PortRange ports_;
  // The id of the next socket. The first id is random, because a plan may still name a socket of an
  // earlier agent. Such an id must not match a socket of this agent.
  uint64_t next_id_;
  bool changed_ = true;
  std::string missing_;
  std::string logged_;  // The last logged failure. Empty after a success.
  std::map<uint64_t, Socket> sockets_;
};

}  // namespace accel::agent
