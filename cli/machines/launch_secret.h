// The secret that the machines of one launch have in common, from which their certificates are
// derived (cli/machines/run_trust.h). It is never sent.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace accel::cli {

// Minimum size of a secret, in characters: 128 random bits in base 64. A peer that can be asked to
// connect could try shorter ones.
inline constexpr size_t kLeastSecretBytes = 22;

struct LaunchSecret {
  std::string value;
  std::string source;  // A file, or the name of the variable. For messages.
};

// Finds the secret in the file that ACCEL_LAUNCH_KEY_FILE names, else in ACCEL_LAUNCH_KEY, else in
// ~/.config/accel/token. If the last file is missing, makes it: machines that share it may do so
// concurrently, and all get the same secret. NOT_FOUND: the file that is named does not exist.
// FAILED_PRECONDITION: other users can read the file, or the secret is too short. INVALID_ARGUMENT:
// it is no secret.
absl::StatusOr<LaunchSecret> FindLaunchSecret();

}  // namespace accel::cli
