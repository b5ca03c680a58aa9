// The paths under which a checkpoint's folder is written and found.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace accel::runtime {

// Returns the absolute path of `folder`. If `folder` is a symbolic link, returns the path that the
// link leads to. A link that leads nowhere is returned unchanged. All functions that save or load
// checkpoints resolve their paths, so a link to a checkpoint remains a link when the checkpoint is
// replaced. A caller that uses several of these functions resolves the path once, because the link
// may change in between.
std::filesystem::path resolved_folder(const std::filesystem::path& folder);

// Returns the name that the checkpoint `folder` has while it is being written.
std::filesystem::path partial_folder(const std::filesystem::path& folder);

// Returns the names of the entries in `folder`, or no names if it does not exist. Throws
// CheckpointError if it cannot be read.
std::vector<std::string> names_in(const std::filesystem::path& folder);

}  // namespace accel::runtime
