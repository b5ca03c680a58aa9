// `accel-agent join`: a machine becomes a node of a cluster. Its identity is in the agent's state
// directory (security/identity_files.h).
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace accel::agent {

struct JoinOptions {
  std::string state_dir;
  std::string name;      // If empty, the host's name.
  std::string key_file;  // If empty, a prompt or standard input; "-" is standard input.
};

// Reads the one-time key, enrols the node, and stores its certificate. Returns a sentence about it.
// Repeating it with the same key after a lost answer gives the same identity. INVALID_ARGUMENT: the
// key is damaged. FAILED_PRECONDITION: an agent uses the state directory, or the server is not the
// one that made the key. Others are those of security::Enrol().
absl::StatusOr<std::string> JoinCluster(const JoinOptions& options);

}  // namespace accel::agent
