// Decides when the units of a sharded model are gathered, freed and reduced. Pure.
//
// A unit is a set of parameters that are gathered and freed together. The units form a tree, as
// their modules do. unit_schedule.cc explains the rules.
#pragma once

#include <cstddef>
#include <vector>

#include "accel/sharding.h"

namespace accel::runtime {

struct UnitScheduleOptions {
  // For each unit: if false, it remains gathered from its forward pass to its gradients. If the
  // list is empty, all units are freed after forward.
  std::vector<bool> reshard_after_forward = {};
  BackwardPrefetch backward_prefetch = BackwardPrefetch::kNone;
  // If true, forward gathers the next unit while the current one computes.
  bool forward_prefetch = false;
};

// A step that the caller performs. All steps except kFree communicate.
struct UnitAction {
  enum Kind {
    kGather,    // Gather the unit, or wait for its prefetch, because its parameters are needed now.
    kPrefetch,  // Begin to gather the unit.
    kReduce,    // Reduce the gradients of the unit that have arrived.
    kFree,      // Free the gathered parameters, after a prefetch has ended.
  };
  Kind kind = kGather;
  int unit = 0;

  bool operator==(const UnitAction&) const = default;
};
using UnitActions = std::vector<UnitAction>;

// The state of all units. The caller reports what a program does, and performs the returned actions
// in their order. Ranks that report the same events perform the same actions. Not thread-safe.
class UnitSchedule {
 public:
  // parents[i] < i is the unit around unit i. Unit 0 is the root, whose parent is -1. Throws
  // std::invalid_argument for another tree.
  UnitSchedule(std::vector<int> parents, const UnitScheduleOptions& options);

  // Returns true if touch(unit) would return nothing.
  bool is_current(int unit) const {
    return unit == current_ && !begins_ && at(unit) == State::kGathered;
  }
  bool is_gathered(int unit) const { return at(unit) == State::kGathered; }

  // Reports that an operator is about to read parameters of the unit.
  UnitActions touch(int unit);
  // Reports the same for a further unit of an operator that reads several. Ends no unit, because
  // the operator needs all of them.
  UnitActions touch_also(int unit);
  // Reports that a gradient of a parameter of the unit has arrived, in a backward pass.
  UnitActions arrive(int unit);
  // Report the start and the end of a pass with gradients. After the end, all units are free.
  void begin_backward();
  UnitActions end_backward();
  // Reports that the parameters are about to change, or that a pass has failed.
  UnitActions free_all();

  bool is_backward() const { return is_backward_; }
  // Returns true if the unit is freed after its forward pass.
  bool reshards(int unit) const;

 private:
  enum class State { kFree, kPrefetched, kGathered };
  State at(int unit) const { return states_[static_cast<std::size_t>(unit)]; }
  State& at(int unit) { return states_[static_cast<std::size_t>(unit)]; }
  bool contains(int outer, int inner) const;
  void leave(int next, UnitActions& actions);
  void free(int unit, UnitActions& actions);
  void reduce(int unit, UnitActions& actions);
  int follow(int unit);

  const std::vector<int> parents_;
  const UnitScheduleOptions options_;
  std::vector<State> states_;
  std::vector<bool> has_gradients_;  // By unit: gradients have arrived and are not reduced yet.
  int current_ = -1;                 // The unit of the last event; -1 if there is none.
  bool is_backward_ = false;
  bool begins_ = false;  // Nothing has been read in this backward pass yet.

  // read_ has the units in the order in which this pass has read them, and expected_ the order that
  // is expected. followed_ is how far the pass has followed that order. If the pass deviates,
  // nothing more is expected of it.
  std::vector<int> read_, expected_, last_forward_, last_backward_;
  std::size_t followed_ = 0;
  bool deviates_ = false;
};

}  // namespace accel::runtime
