// The sizes of a sharded model's parameters, for accelerator.print_sharding().
#pragma once

#include <memory>
#include <vector>

#include "accel/sharding.h"
#include "runtime/core/sharding/sharding_report.h"
#include "runtime/parallel/sharded_unit.h"
#include "runtime/parallel/unit_layout.h"

namespace accel::runtime {

// Returns what sharding_text() reports. `ignored` are the parameters that are in no unit. The
// caller sets which units are freed after forward.
ShardingOutline outline_of(const ShardingOptions& options, const ShardingGroups& groups,
                           const std::vector<std::unique_ptr<ShardedUnit>>& units,
                           const std::vector<UnitParameter>& ignored);

}  // namespace accel::runtime
