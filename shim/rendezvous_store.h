// The seam between the shim and the store that it holds for a generation.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/unique_fd.h"

namespace accel::shim {

// Serves until it is destroyed.
class RendezvousStore {
 public:
  virtual ~RendezvousStore() = default;
};

// Serves on a listening socket, for peers with these numeric addresses, as many connections as this
// at a time.
using StoreStarter = std::function<absl::StatusOr<std::unique_ptr<RendezvousStore>>(
    common::UniqueFd listen_socket, const std::vector<std::string>& peers, size_t max_connections)>;

}  // namespace accel::shim
