// The nodes from which the machine ranks of a job choose, in the order of preference. Nodes that
// the job avoids come last. Most jobs need few nodes, so the list grows only as far as it is read.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <set>
#include <vector>

#include "common/ids.h"
#include "coordinator/core/node_offer.h"

namespace accel::coordinator {

// Not thread-safe.
class Candidates {
 public:
  // `offers` is a container of const NodeOffer*, sorted by preference. Both arguments must outlive
  // this object.
  template <typename Offers>
  Candidates(const Offers& offers, const std::set<common::NodeId>& avoid)
      : more_([next = offers.begin(), end = offers.end()]() mutable {
          return next == end ? nullptr : *next++;
        }),
        avoid_(&avoid) {}

  // Returns candidate `i`, or null if there are not so many.
  const NodeOffer* At(size_t i) {
    while (found_.size() <= i) {
      const NodeOffer* next = Next();
      if (next == nullptr) return nullptr;
      found_.push_back(next);
    }
    return found_[i];
  }

 private:
  const NodeOffer* Next() {
    while (const NodeOffer* next = more_()) {
      if (!avoid_->contains(next->id)) return next;
      avoided_.push_back(next);
    }
    if (avoided_.empty()) return nullptr;
    const NodeOffer* next = avoided_.front();
    avoided_.pop_front();
    return next;
  }

  std::function<const NodeOffer*()> more_;
  const std::set<common::NodeId>* avoid_;
  std::vector<const NodeOffer*> found_;
  std::deque<const NodeOffer*> avoided_;  // Those before the present position of more_.
};

}  // namespace accel::coordinator
