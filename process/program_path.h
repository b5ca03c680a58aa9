// Finds the file of a command before any process is started. "Not found" and "not executable" can
// thus be distinguished from a program that fails.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace accel::process {

// The exit codes for these two cases, which are those of shells.
constexpr int kNotFoundCode = 127;
constexpr int kNotExecutableCode = 126;

struct ProgramPath {
  std::string path;  // For execve(), relative to the working directory.
  int code = 0;      // 0 if found. Otherwise kNotFoundCode or kNotExecutableCode.
  std::string why;   // Why the program cannot be used, as a full sentence.
};

// Finds `program`. If it has a slash, it is a path, relative to `workdir`. Otherwise it is
// searched in the PATH of `env` (entries NAME=VALUE), or in /usr/local/bin:/usr/bin:/bin if `env`
// has no PATH.
ProgramPath FindProgram(const std::string& program, const std::string& workdir,
                        const std::vector<std::string>& env);

// Returns the value of `name` in `env`, or nullptr. The last of several entries counts.
const char* FindEnv(const std::vector<std::string>& env, absl::string_view name);

}  // namespace accel::process
