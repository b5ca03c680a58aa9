// The command line of accel-coordinator.
#pragma once

#include <optional>
#include <string>

#include "absl/time/time.h"

namespace accel::coordinator {

struct CoordinatorFlags {
  std::string listen = "127.0.0.1:7337";
  std::string state_dir;
  std::string token_file;
  absl::Duration node_timeout = absl::Seconds(5);
};

// Prints help, version or a complaint, and then returns the exit code instead: 0, or 2 for a bad
// command line.
std::optional<int> ParseFlags(int argc, char** argv, CoordinatorFlags* flags);

}  // namespace accel::coordinator
