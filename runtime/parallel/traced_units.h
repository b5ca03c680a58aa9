// The units of one sharded model, and the trace of their collectives. Ranks compare their traces
// after a backward pass, so each collective of a pass is entered here, before it begins.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/core/sharding/unit_schedule.h"
#include "runtime/core/sharding/unit_trace.h"
#include "runtime/parallel/sharded_unit.h"

namespace accel::runtime {

// The units, in the order of the model. Not thread-safe.
class TracedUnits {
 public:
  void add(std::unique_ptr<ShardedUnit> unit) { units_.push_back(std::move(unit)); }

  const std::vector<std::unique_ptr<ShardedUnit>>& all() const { return units_; }
  std::size_t size() const { return units_.size(); }
  ShardedUnit& operator[](std::size_t i) const { return *units_[i]; }

  // Makes the actions in their order. If `keeps_gradients`, reduces no unit. Collective.
  void perform(const UnitActions& actions, bool keeps_gradients);
  // Reduces the units that have unreduced gradients. Collective.
  void reduce_kept();
  // Gathers all units as plain memory, and frees them again: see ShardedUnit. begin_whole() is
  // collective.
  void begin_whole();
  void end_whole(bool is_written);

  const UnitTrace& trace() const { return trace_; }

 private:
  std::vector<std::unique_ptr<ShardedUnit>> units_;
  UnitTrace trace_;
};

}  // namespace accel::runtime
