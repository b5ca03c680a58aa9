// The sizes of a sharded model's parameters, for accelerator.print_sharding().
#pragma once

#include <vector>

#include "runtime/core/sharding/sharding_report.h"
#include "runtime/parallel/sharded_unit.h"

namespace accel::runtime {

// Returns the name and sizes of a unit; the caller sets the rest.
ReportedUnit reported(const ShardedUnit& unit);
// Returns the sizes of parameters that are in no unit.
ReportedUnit reported(const std::vector<UnitParameter>& parameters);

}  // namespace accel::runtime
