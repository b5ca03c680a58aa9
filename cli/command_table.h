// The commands of `accel`, in the order of its help.
#pragma once

#include <vector>

#include "cli/dispatch.h"

namespace accel::cli {

// Returns all commands except `completion`, because that command needs the table itself.
std::vector<Command> CommandTable();

}  // namespace accel::cli
