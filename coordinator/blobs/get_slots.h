// Bounds how many calls of Blobs.Get all users together have, because each holds megabytes of
// memory. Each caller has a bound of its own (coordinator/access/call_limits.h).
#pragma once

#include <atomic>
#include <memory>

#include "absl/status/statusor.h"
#include "coordinator/access/caller.h"

namespace accel::coordinator {

// Thread-safe.
class GetSlots {
 public:
  static constexpr int kMaxOfUsers = 64;

  // Gives its place back when destroyed. The slots must outlive it.
  class Slot {
   public:
    explicit Slot(std::atomic<int>* taken) : taken_(*taken) {}
    ~Slot() { --taken_; }
    Slot(const Slot&) = delete;
    Slot& operator=(const Slot&) = delete;

   private:
    std::atomic<int>& taken_;
  };

  // UNAVAILABLE: all users together have as many as they may. Nodes and the owner get null, because
  // there is no bound for all of them together: all nodes of a large job call at the same time, and
  // a refusal would end its start.
  absl::StatusOr<std::unique_ptr<Slot>> Take(const Caller& caller);

 private:
  std::atomic<int> taken_ = 0;
};

}  // namespace accel::coordinator
