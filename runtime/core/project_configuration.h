#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace accel {

// Where checkpoints go that save_state() names by itself, and what trackers write.
struct ProjectConfiguration {
  std::string project_dir;
  std::string logging_dir = "";  // Of the trackers; empty: project_dir.
  // save_state() without a folder writes project_dir/checkpoints/checkpoint_N, N = 0, 1, ...
  bool automatic_checkpoint_naming = false;
  // How many of those are kept; at least 1. The oldest goes when a new one is complete, torn ones
  // before it. Folders without accel's manifest do not count, and stay.
  std::optional<std::size_t> total_limit = std::nullopt;
  std::uint64_t iteration = 0;  // The first N.

  const std::string& log_folder() const { return logging_dir.empty() ? project_dir : logging_dir; }
};

}  // namespace accel
