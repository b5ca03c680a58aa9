#include "runtime/parallel/traced_units.h"

namespace accel::runtime {

void TracedUnits::perform(const UnitActions& actions, bool keeps_gradients) {
  for (const UnitAction& action : actions) {
    ShardedUnit& unit = *units_[static_cast<std::size_t>(action.unit)];
    switch (action.kind) {
      case UnitAction::kGather:
        trace_.add("gather " + unit.name());
        unit.gather();
        break;
      case UnitAction::kPrefetch:
        trace_.add("prefetch " + unit.name());
        unit.begin_gather();
        break;
      case UnitAction::kReduce:
        if (keeps_gradients) break;
        trace_.add("reduce " + unit.name());
        unit.gradients().reduce();
        break;
      case UnitAction::kFree:
        unit.free();
        break;
    }
  }
}

void TracedUnits::reduce_kept() {
  for (const auto& unit : units_) {
    if (!unit->gradients().has_unreduced()) continue;
    trace_.add("reduce " + unit->name());
    unit->gradients().reduce();
  }
}

void TracedUnits::begin_whole() {
  for (const auto& unit : units_) {
    trace_.add("gather " + unit->name());
    unit->begin_whole();
  }
}

void TracedUnits::end_whole(bool is_written) {
  for (const auto& unit : units_) unit->end_whole(is_written);
}

}  // namespace accel::runtime
