// The interface between the shim and a rendezvous store. A shim serves the store of a generation if
// its node has machine rank 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/unique_fd.h"

namespace accel::shim {

// A store that serves until it is destroyed.
class RendezvousStore {
 public:
  virtual ~RendezvousStore() = default;

  // Returns the number of open connections.
  virtual uint64_t connections() const = 0;

  // Returns the number of connections that were closed because of the peer's address.
  virtual uint64_t refused_peers() const = 0;
};

// Starts a store on a listening socket. The store accepts only peers with these numeric addresses,
// and at most `max_connections` connections at a time.
using StoreStarter = std::function<absl::StatusOr<std::unique_ptr<RendezvousStore>>(
    common::UniqueFd listen_socket, const std::vector<std::string>& peers, size_t max_connections)>;

}  // namespace accel::shim
