// The command line of accel-coordinator.
#pragma once

#include <optional>
#include <string>

#include "absl/time/time.h"

namespace accel::coordinator {

// The values of the flags. `--help` describes them (flags.cc).
struct CoordinatorFlags {
  std::string socket;  // See FindSocketPath() in common/coordinator_address.h.
  std::string listen;  // If empty, there is no TCP address.
  std::string state_dir;
  absl::Duration node_timeout = absl::Seconds(3);
  absl::Duration grow_after = absl::Seconds(30);
  bool check = false;
  std::string backup;  // If empty, no backup is asked for.
};

// Parses the command line into *flags and returns nullopt. If the command line asks for help or the
// version, prints the text and returns the exit code 0. If it is invalid, prints the error and
// returns the exit code 2.
std::optional<int> ParseFlags(int argc, char** argv, CoordinatorFlags* flags);

}  // namespace accel::coordinator
