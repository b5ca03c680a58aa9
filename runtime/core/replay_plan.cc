#include "runtime/core/replay_plan.h"

#include <algorithm>
#include <iterator>
#include <map>

namespace accel::runtime {

ReplayPlan plan_replay(const std::vector<TouchedSlots>& steps, const std::set<std::size_t>& starts,
                       const std::set<int>& wanted, bool reaches_end) {
  std::map<int, std::size_t> first, last;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    for (const int slot : steps[i]) {
      first.emplace(slot, i);
      last[slot] = i;
    }
  }
  std::size_t begin = steps.size(), end = reaches_end ? steps.size() : 0;
  for (const int slot : wanted) {
    begin = std::min(begin, first.at(slot));
    end = std::max(end, last.at(slot) + 1);
  }
  if (begin >= end) return {};
  // Walks backwards, so that each step is visited once, even if `begin` moves to an earlier start.
  begin = *std::prev(starts.upper_bound(begin));
  for (std::size_t i = end; i-- > begin;) {
    for (const int slot : steps[i]) {
      if (first[slot] < begin) begin = *std::prev(starts.upper_bound(first[slot]));
    }
  }
  ReplayPlan plan{.begin = begin, .end = end, .finished = {end - begin, std::vector<int>()}};
  for (const auto& [slot, step] : last) {
    if (step >= begin && step < end) plan.finished[step - begin].push_back(slot);
  }
  return plan;
}

}  // namespace accel::runtime
