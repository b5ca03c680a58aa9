// The command `accel-agent join`, which makes a machine a node of a cluster. It stores the node's
// identity in the agent's state directory (security/identity_files.h).
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace accel::agent {

struct JoinOptions {
  std::string state_dir;
  std::string name;  // If empty, the host's name.
  // "-" is standard input. If empty, a prompt on a terminal, or else standard input.
  std::string key_file;
};

// Reads the one-time key, enrols the node, and stores its certificate. Returns a sentence
// that reports the success. If the server's answer is lost, a second call with the same key
// gives the same identity. INVALID_ARGUMENT: the key is damaged. FAILED_PRECONDITION: an
// agent uses the state directory, or the server is not the one that made the key. Other
// errors are those of security::Enrol().
absl::StatusOr<std::string> JoinCluster(const JoinOptions& options);

}  // namespace accel::agent
