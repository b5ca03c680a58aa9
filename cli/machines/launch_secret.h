// The secret that the machines of one launch have in common, from which their certificates are
// derived (cli/machines/run_trust.h). It is never sent.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace accel::cli {

// Minimum size of a secret in characters, which is that of 128 random bits in Base64. A peer could
// guess shorter secrets by trying them.
inline constexpr size_t kLeastSecretBytes = 22;

struct LaunchSecret {
  std::string value;
  std::string source;  // For messages: the path of the file, or the name of the variable.
};

// Finds the secret in the file that ACCEL_LAUNCH_KEY_FILE names, else in ACCEL_LAUNCH_KEY, else in
// ~/.config/accel/token. Makes the last file if it does not exist. Machines that share this file
// may make it concurrently, and all of them get the same secret. NOT_FOUND: the file that the
// variable names does not exist. FAILED_PRECONDITION: other users can read the file, or the secret
// is too short. INVALID_ARGUMENT: the text cannot be a secret.
absl::StatusOr<LaunchSecret> FindLaunchSecret();

}  // namespace accel::cli
