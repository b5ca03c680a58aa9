// Handles the command line of a daemon: its flags, help, manual page, version, and errors.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "common/flag_set.h"

namespace accel::common {

// Adds --version to `flags`, parses the command line and calls `check`. `check` returns an error if
// flags contradict each other or a required flag is missing. Returns nullopt if the daemon should
// run. If help or the version is asked for, prints it and returns 0, or 1 if it cannot be printed.
// After wrong usage, prints an error after `program`, the daemon's name, and returns 2.
std::optional<int> ParseDaemonFlags(const std::string& program, int argc, char** argv,
                                    FlagSet* flags, const std::function<absl::Status()>& check);

}  // namespace accel::common
