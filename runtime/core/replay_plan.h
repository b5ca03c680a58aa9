// Decides which steps of a tape are replayed, and how long each of its memories lives.
#pragma once

#include <cstddef>
#include <set>
#include <vector>

namespace accel::runtime {

// The numbers of the memories ("slots") that a step of a tape makes, reads or writes.
using TouchedSlots = std::vector<int>;

// The steps from `begin` to before `end` are replayed, in order.
struct ReplayPlan {
  std::size_t begin = 0, end = 0;
  // For each of these steps, the slots that no later step touches. Their values are final after
  // this step, and their memory is no longer needed.
  std::vector<std::vector<int>> finished = {};
};

// Returns the shortest replay that gives the `wanted` slots their final values, or one with no
// steps if none is wanted. Each wanted slot is touched by a step. A replay can begin only at one of
// `starts`, which include 0. It begins so early that its steps touch no slot that was made before
// `begin`. If `reaches_end` is true, the replay includes the last step.
ReplayPlan plan_replay(const std::vector<TouchedSlots>& steps, const std::set<std::size_t>& starts,
                       const std::set<int>& wanted, bool reaches_end);

}  // namespace accel::runtime
