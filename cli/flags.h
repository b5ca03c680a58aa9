// The flags of the commands of `accel`: the class that its daemons use too.
#pragma once

#include "common/flag_set.h"

namespace accel::cli {

using common::FlagSet;

}  // namespace accel::cli
