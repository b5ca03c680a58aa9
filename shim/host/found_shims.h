// Finds the shims that an earlier agent of this node has left, by their folders.
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
  bool alive = false;           // Its process exists. Otherwise only its leftovers may.
  common::UniqueFd connection;  // Invalid if it is dead or does not accept a connection.
};

// Removes folders of an earlier boot, because a reboot has ended their shims and everything else.
// Removes intents that no process followed.
std::vector<FoundShim> FindShims(const std::string& shims_dir, const std::string& boot_id);

}  // namespace accel::shim
