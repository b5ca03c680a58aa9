// The flags of a launch, made from the table of settings.
#pragma once

#include <vector>

#include "cli/config/core/effective_settings.h"
#include "cli/flags.h"

namespace accel::cli {

// Declare a flag for each setting that has one. Parsing appends the given settings to `to`, which
// must outlive the set. --help prints the flags of a launch, and --help_all also prints the others.
void AddLaunchSettingFlags(FlagSet* flags, std::vector<FlagSetting>* to);
void AddOtherSettingFlags(FlagSet* flags, std::vector<FlagSetting>* to);

}  // namespace accel::cli
