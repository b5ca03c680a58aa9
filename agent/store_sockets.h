// A pool of listening sockets, so that a plan can name a store's address before any worker starts.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/unique_fd.h"
#include "proto/node.pb.h"

namespace accel::agent {

// Not thread-safe.
class StoreSockets {
 public:
  // Opens `size` sockets on `address`, each on a port that the kernel picks.
  StoreSockets(std::string address, size_t size);

  std::vector<v1::StoreSocket> List() const;

  // Takes the socket with this id out of the pool. Invalid if there is none. 0 is never an id.
  common::UniqueFd Take(uint64_t id);

  // Fills the pool up to its size. Returns true if List() has changed since the last call. If there
  // are no free ports or descriptors, logs that and tries again at the next call.
  bool Refill();

 private:
  struct Socket {
    common::UniqueFd fd;
    int port;
  };

  const std::string address_;
  const size_t size_;
  // Starts at a random number, because a plan may still name a socket of an earlier agent of this
  // node, which must not be taken for one of this agent.
  uint64_t next_id_;
  bool changed_ = true;
  std::map<uint64_t, Socket> sockets_;
};

}  // namespace accel::agent
