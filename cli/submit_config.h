// The configuration file of a job for a cluster: `accel submit --config_file FILE`.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/program.h"
#include "cli/submit_flags.h"

namespace accel::cli {

struct ConfiguredSubmit {
  SubmitFlags flags;
  std::vector<std::string> notes;  // Keys of the file that have no effect. One sentence each.
};

// Combines the flags of `args` with the values in the file `config_file`. Flags override the file.
// INVALID_ARGUMENT: the file is wrong or missing, or asks for a launcher that accel does not start.
absl::StatusOr<ConfiguredSubmit> ReadOnTopOfConfig(const std::vector<std::string>& args,
                                                   const std::string& config_file,
                                                   const CallerContext& context);

}  // namespace accel::cli
