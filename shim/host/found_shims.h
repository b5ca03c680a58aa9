// Finds the shims that an earlier agent of this node has left. Each has a folder (shim_folder.h).
#pragma once

#include <string>
#include <vector>

#include "common/unique_fd.h"
#include "shim/host/shim_folder.h"

namespace accel::shim {

struct FoundShim {
  common::JobId job;
  ShimFolder folder;
  ShimRecord record;
  // The shim's process exists. If false, only processes that it has left may exist.
  bool alive = false;
  common::UniqueFd connection;  // Invalid if the shim is dead or accepts no connection.
};

// Returns the shims that may have processes or results. Removes the folders of an earlier boot,
// because a reboot has ended all their processes. Also removes the folders of dead shims
// that never had a generation, and of intents whose shim was never started.
std::vector<FoundShim> FindShims(const std::string& shims_dir, const std::string& boot_id);

}  // namespace accel::shim
