// The rules by which units are gathered and freed.
//
// The problem. Nothing in a LibTorch program says where a layer begins or ends. Modules have no
// hooks, and a program may call layers directly, in any order. Only two events can be observed: an
// operator reads a parameter (touch), and a gradient arrives (arrive).
//
// The approach. The tree of the units says which units an event ends. If a parameter is read
// that lies outside of the current unit, the current unit has ended. So has each unit around it
// that does not contain the unit that is read. A unit around the new one has not ended, because
// its own parameters may be read again after its children. So at any time only one path of the
// tree is gathered:
//
// clang-format off
//   read                     root   layer 0   layer 1   layer 1   root (head)
//   gathered afterwards      root   root      root      root      root
//                                   layer 0   layer 1   layer 1
// clang-format on
//
// If each read freed the unit that was read before, each layer would free the root, and the head
// would gather it again.
//
// The same rule serves a backward pass, where a unit that ends is reduced before it is freed. It is
// reduced even if some of its gradients have not arrived. A parameter may be unused on one rank
// only, but all ranks must reduce the same units in the same order. A gradient that arrives later
// is reduced when the unit ends again, because a sum may be reduced in two parts.
//
// The obvious alternative is to reduce a unit when all its gradients have arrived. A rank with an
// unused parameter would then reduce later than the others, in another order (docs/decisions/0064).
//
// Prefetching relies on the order of the last pass of the same kind. The first backward pass
// uses the order of the forward pass, reversed. If a pass reads a unit that was not expected,
// nothing is prefetched in the rest of it. The ranks still agree then, because each decides from
// the same events.
#include "runtime/core/sharding/unit_schedule.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace accel::runtime {
namespace {

// Maximum number of reads that are noted. It is limited, because an evaluation may make any number
// of forward passes.
constexpr std::size_t kMaxReads = 100'000;

}  // namespace

UnitSchedule::UnitSchedule(std::vector<int> parents, const UnitScheduleOptions& options)
    : parents_(std::move(parents)),
      options_(options),
      states_(parents_.size(), State::kFree),
      has_gradients_(parents_.size(), false) {
  for (int unit = 0; unit < static_cast<int>(parents_.size()); ++unit) {
    const int parent = parents_[static_cast<std::size_t>(unit)];
    if (unit == 0 ? parent != -1 : parent < 0 || parent >= unit) {
      throw std::invalid_argument("units should follow the unit around them");
    }
  }
}

bool UnitSchedule::contains(int outer, int inner) const {
  while (inner > outer) inner = parents_[static_cast<std::size_t>(inner)];
  return inner == outer;
}

void UnitSchedule::free(int unit, UnitActions& actions) {
  if (at(unit) != State::kFree) actions.push_back({UnitAction::kFree, unit});
  at(unit) = State::kFree;
}

void UnitSchedule::reduce(int unit, UnitActions& actions) {
  const auto place = static_cast<std::size_t>(unit);
  if (has_gradients_[place]) actions.push_back({UnitAction::kReduce, unit});
  has_gradients_[place] = false;
}

bool UnitSchedule::reshards(int unit) const {
  const auto& reshards = options_.reshard_after_forward;
  return reshards.empty() || reshards[static_cast<std::size_t>(unit)];
}

// Ends the units that do not contain `next`.
void UnitSchedule::leave(int next, UnitActions& actions) {
  for (; current_ >= 0 && !contains(current_, next);
       current_ = parents_[static_cast<std::size_t>(current_)]) {
    if (is_backward_) reduce(current_, actions);
    if (is_backward_ || reshards(current_)) free(current_, actions);
  }
  current_ = next;
}

// Notes that `unit` is read, and returns the unit that is expected next, or -1.
int UnitSchedule::follow(int unit) {
  if (read_.size() == kMaxReads && !is_backward_) {
    // Drops the older half, because the next backward pass follows the latest forward pass.
    // Dropping one read at a time would move all others each time.
    read_.erase(read_.begin(), read_.begin() + kMaxReads / 2);
  }
  if (read_.size() < kMaxReads) read_.push_back(unit);
  if (deviates_) return -1;
  if (followed_ == expected_.size() && !is_backward_) followed_ = 0;  // Another forward pass.
  const auto from = expected_.begin() + static_cast<std::ptrdiff_t>(followed_);
  const auto found = std::find(from, expected_.end(), unit);
  if (found == expected_.end()) {
    deviates_ = true;
    return -1;
  }
  followed_ = static_cast<std::size_t>(found - expected_.begin()) + 1;
  return followed_ < expected_.size() ? expected_[followed_] : -1;
}

UnitActions UnitSchedule::touch(int unit) {
  UnitActions actions;
  if (is_current(unit)) return actions;
  begins_ = false;
  const bool is_late = is_backward_ && options_.backward_prefetch == BackwardPrefetch::kPost;
  if (!is_late) leave(unit, actions);
  if (at(unit) != State::kGathered) actions.push_back({UnitAction::kGather, unit});
  at(unit) = State::kGathered;
  if (is_late) leave(unit, actions);
  const int next = follow(unit);
  const bool prefetches = is_backward_ ? options_.backward_prefetch == BackwardPrefetch::kPre
                                       : options_.forward_prefetch;
  if (prefetches && next >= 0 && at(next) == State::kFree) {
    actions.push_back({UnitAction::kPrefetch, next});
    at(next) = State::kPrefetched;
  }
  return actions;
}

UnitActions UnitSchedule::touch_also(int unit) {
  if (at(unit) == State::kGathered) return {};
  at(unit) = State::kGathered;
  return {{UnitAction::kGather, unit}};
}

UnitActions UnitSchedule::arrive(int unit) {
  UnitActions actions;
  if (unit != current_) leave(unit, actions);
  has_gradients_[static_cast<std::size_t>(unit)] = true;
  return actions;
}

void UnitSchedule::begin_backward() {
  if (!read_.empty()) last_forward_ = std::exchange(read_, {});
  expected_ = last_backward_;
  if (expected_.empty()) expected_.assign(last_forward_.rbegin(), last_forward_.rend());
  followed_ = 0;
  deviates_ = false;
  is_backward_ = begins_ = true;
}

UnitActions UnitSchedule::end_backward() {
  UnitActions actions;
  for (int unit = static_cast<int>(parents_.size()) - 1; unit >= 0; --unit) reduce(unit, actions);
  last_backward_ = read_;
  const UnitActions freed = free_all();
  actions.insert(actions.end(), freed.begin(), freed.end());
  return actions;
}

UnitActions UnitSchedule::free_all() {
  UnitActions actions;
  for (int unit = static_cast<int>(parents_.size()) - 1; unit >= 0; --unit) free(unit, actions);
  std::fill(has_gradients_.begin(), has_gradients_.end(), false);
  current_ = -1;
  is_backward_ = begins_ = false;
  read_.clear();
  expected_ = last_forward_;
  followed_ = 0;
  deviates_ = false;
  return actions;
}

}  // namespace accel::runtime
