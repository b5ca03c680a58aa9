// Job files: `accel submit job.yaml` takes the flags of `accel submit` from a file.
//
//   program: ./train            # required
//   args: [--epochs, 3]
//   nodes: 2                    # any flag of `accel submit`, by its name
//   env: {OMP_NUM_THREADS: 4}
//   config_file: fsdp.yaml      # the settings of a configuration file, for example of FSDP
//
// A file whose name ends in .json has the same keys in JSON.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cli/flags.h"

namespace accel::cli {

// Returns true if the program of a command line is a job file.
bool IsJobFile(absl::string_view program);

// Returns `args` with the job file replaced by the flags and the program in its text. The last
// `program_words` of `args` are the job file and the words after it. Flags in `args` override those
// of the file, except that the variables of both are set. The words after the file follow the
// program's arguments. `flags` is a set of the command's flags, which is used to check each key.
// INVALID_ARGUMENT: the message begins with "FILE:LINE:COLUMN: ". Pure.
absl::StatusOr<std::vector<std::string>> ExpandJobFile(const std::vector<std::string>& args,
                                                       size_t program_words, absl::string_view text,
                                                       FlagSet& flags);

}  // namespace accel::cli
