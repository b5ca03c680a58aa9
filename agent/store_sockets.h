// The pool of sockets that already listen, so that a plan can name a store's address before any
// worker starts.
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
  // `size` sockets on `address`, each on a port that the kernel picks.
  StoreSockets(std::string address, size_t size) : address_(std::move(address)), size_(size) {
    Refill();
  }

  std::vector<v1::StoreSocket> List() const;

  // Invalid if there is none with this id (0 never is one).
  common::UniqueFd Take(uint64_t id);

  // Brings the pool back to its size. True if List() has changed since the last call. A node
  // without free ports or descriptors is logged and tries again at the next call.
  bool Refill();

 private:
  struct Socket {
    common::UniqueFd fd;
    int port;
  };

  const std::string address_;
  const size_t size_;
  uint64_t next_id_ = 1;
  bool changed_ = true;
  std::map<uint64_t, Socket> sockets_;
};

}  // namespace accel::agent
