// Manual pages of the programs and their commands.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "common/command_help.h"

namespace accel::common {

// Returns the page in troff's language, for man(1). It has every flag. `section` is "1" for
// commands of users and "8" for daemons; `version` is that of accel. Pure.
std::string ManPage(const CommandHelp& help, absl::string_view section, absl::string_view version);

}  // namespace accel::common
