// Finds out whether the program of a job can start on this machine, without starting it.
#pragma once

#include <optional>
#include <string>

#include "cli/program.h"
#include "proto/job.pb.h"

namespace accel::cli {

struct ProgramFault {
  int exit_code = 0;     // The exit code of the launch: 126 or 127 (docs/exit-codes.md).
  std::string sentence;  // Names the file, and says what is wrong with it.
};

// Returns nullopt if each file that the job requires exists here and the program can be executed.
// The rules are those of the shim, which checks again when the job starts.
std::optional<ProgramFault> FindProgramFault(const v1::JobSpec& spec, const CallerContext& context);

}  // namespace accel::cli
