// Finds the file that a command names, before anything is started, so that "not found" and "not
// executable" are told apart from a failing program.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace accel::process {

// The exit codes with which shells report these two, and we too.
constexpr int kNotFoundCode = 127;
constexpr int kNotExecutableCode = 126;

struct ProgramPath {
  std::string path;  // As execve takes it, after a change to the working directory.
  int code = 0;      // 0: found. Otherwise kNotFoundCode or kNotExecutableCode...
  std::string why;   // ...and a full sentence.
};

// `program` with a slash is a path, relative to `workdir`; otherwise it is looked up in the PATH of
// `env` (NAME=VALUE; without a PATH, in /usr/local/bin:/usr/bin:/bin).
ProgramPath FindProgram(const std::string& program, const std::string& workdir,
                        const std::vector<std::string>& env);

// The value of `name` in `env`, or nullptr. The last one wins.
const char* FindEnv(const std::vector<std::string>& env, absl::string_view name);

}  // namespace accel::process
