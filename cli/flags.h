// Makes FlagSet, which the daemons use too, available to the commands of `accel`.
#pragma once

#include "common/flag_set.h"

namespace accel::cli {

using common::FlagSet;

}  // namespace accel::cli
