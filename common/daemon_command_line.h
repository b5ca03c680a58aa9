// The command line of a daemon: help, manual page, version, and errors after the program's name.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "common/flag_set.h"

namespace accel::common {

// Adds --version to `flags`, parses the command line and calls `check`, which returns an error if
// flags contradict each other or a required one is missing. Returns nullopt if the daemon should
// run. If the command line asks for help or the version, or is wrong, prints that instead and
// returns the exit code: 0, or 2 for wrong usage. `program` is the daemon's name.
std::optional<int> ParseDaemonFlags(const std::string& program, int argc, char** argv,
                                    FlagSet* flags, const std::function<absl::Status()>& check);

}  // namespace accel::common
