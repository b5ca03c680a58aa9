// Bounds the calls of Blobs.Get that all users together have, because each call holds megabytes of
// memory. Each caller also has its own bound (coordinator/access/call_limits.h).
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

  // The place of one call, which is released when this object is destroyed. The GetSlots
  // must outlive it.
  class Slot {
   public:
    explicit Slot(std::atomic<int>* taken) : taken_(*taken) {}
    ~Slot() { --taken_; }
    Slot(const Slot&) = delete;
    Slot& operator=(const Slot&) = delete;

   private:
    std::atomic<int>& taken_;
  };

  // Gives a call of a user a slot. UNAVAILABLE: all users together already have kMaxOfUsers.
  // Returns null for nodes and the owner, which have no common bound. All nodes of a large job call
  // at the same time, and a refusal would end its start.
  absl::StatusOr<std::unique_ptr<Slot>> Take(const Caller& caller);

 private:
  std::atomic<int> taken_ = 0;
};

}  // namespace accel::coordinator
