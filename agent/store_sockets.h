// A pool of listening sockets, so that a plan can name a store's address before any worker starts.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/port_range.h"
#include "common/unique_fd.h"
#include "proto/node.pb.h"

namespace accel::agent {

// The pool has sockets of two kinds: some listen on the address by which other nodes reach this
// one, and as many on 127.0.0.1, because a job of one node must not be reachable from others
// (docs/decisions/0057). Not thread-safe.
class StoreSockets {
 public:
  // Opens `size` sockets on `address`, and, unless that is 127.0.0.1, `size` sockets on 127.0.0.1.
  // Each has a port of `ports`.
  StoreSockets(const std::string& address, size_t size, common::PortRange ports = {});

  std::vector<v1::StoreSocket> List() const;

  // Takes the socket with this id out of the pool. Invalid if there is none. 0 is never an id.
  common::UniqueFd Take(uint64_t id);

  // Fills the pool up to its size. Returns true if List() or missing() has changed since the last
  // call. If there are no free ports or descriptors, logs that and tries again at the next call.
  bool Refill();

  // Returns why there is no socket of some kind, so that the node cannot start jobs. Empty if there
  // is one of each.
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
  // Starts at a random number, because a plan may still name a socket of an earlier agent of this
  // node, which must not be taken for one of this agent.
  uint64_t next_id_;
  bool changed_ = true;
  std::string missing_;
  std::string logged_;  // The failure of the last search, which is logged once. Empty if none.
  std::map<uint64_t, Socket> sockets_;
};

}  // namespace accel::agent
