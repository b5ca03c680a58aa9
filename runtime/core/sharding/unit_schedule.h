// When the units of a sharded model are gathered, freed and reduced. Pure.
//
// A unit is a set of parameters that are gathered and freed together. The units form a tree, as the
// modules do that they stand for. unit_schedule.cc explains the rules.
#pragma once

#include <cstddef>
#include <vector>

#include "accel/sharding.h"

namespace accel::runtime {

struct UnitScheduleOptions {
  // By unit: if false, it remains gathered from its forward pass to its gradients. If empty, none
  // does.
  std::vector<bool> reshard_after_forward = {};
  BackwardPrefetch backward_prefetch = BackwardPrefetch::kNone;
  // If true, a unit of a forward pass is gathered while the one before computes.
  bool forward_prefetch = false;
};

// A step that the caller performs. All but kFree communicate.
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

// The caller reports what a program does, and performs the returned actions in their order. Ranks
// that report the same events perform the same actions. Not thread-safe.
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

  // An operator is about to read parameters of the unit.
  UnitActions touch(int unit);
  // The same for an operator that reads several units: the unit of the last event remains.
  UnitActions touch_also(int unit);
  // A gradient of a parameter of the unit has arrived, in a backward pass.
  UnitActions arrive(int unit);
  // A pass with gradients begins, and ends. All units are free afterwards.
  void begin_backward();
  UnitActions end_backward();
  // The parameters are about to change, or a pass has failed.
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
  std::vector<bool> has_gradients_;  // That have arrived and are not reduced yet.
  int current_ = -1;                 // The unit of the last event; -1 if there is none.
  bool is_backward_ = false;
  bool begins_ = false;  // Nothing has been read in this backward pass yet.

  // The units in the order in which this pass has read them, the order that is expected, and how
  // far the pass has followed it. If the pass deviates, nothing more is expected of it.
  std::vector<int> read_, expected_, last_forward_, last_backward_;
  std::size_t followed_ = 0;
  bool deviates_ = false;
};

}  // namespace accel::runtime
