// Job files: `accel submit job.yaml` takes the flags of `accel submit` from a file.
//
//   program: ./train            # required
//   args: [--epochs, 3]
//   nodes: 2                    # any flag of `accel submit`, by its name
//   env: {OMP_NUM_THREADS: 4}
//   config_file: fsdp.yaml      # the settings of a configuration file, for example of FSDP
//
// A file that ends in .json holds the same as JSON.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cli/flags.h"

namespace accel::cli {

// Returns true if the program of a command line is a job file.
bool IsJobFile(absl::string_view program);

// Returns the arguments that mean the same as `args`, whose last `program_words` are a job file and
// what follows it. `args` win over the file, except that variables of both are set; the words after
// the file follow the arguments of the program. `flags` is a set of the command's flags, which is
// used to check each key. INVALID_ARGUMENT: the message begins with "FILE:LINE:COLUMN: ". Pure.
absl::StatusOr<std::vector<std::string>> ExpandJobFile(const std::vector<std::string>& args,
                                                       size_t program_words, absl::string_view text,
                                                       FlagSet& flags);

}  // namespace accel::cli
