// Bounds how many calls of Blobs.Get there are, because each holds megabytes of memory.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "coordinator/access/caller.h"

namespace accel::coordinator {

// Thread-safe.
class GetSlots {
 public:
  // An agent has at most four calls at a time. Calls that it has cancelled may not be over yet.
  static constexpr int kMaxOfCaller = 8;
  // Maximum number of calls of all users. Nodes have no such limit, because all nodes of a large
  // job call at the same time, and one refusal would end the job.
  static constexpr int kMaxOfUsers = 64;

  // Gives its place back when destroyed. The slots must outlive it.
  class Slot {
   public:
    Slot(GetSlots* slots, const Caller& caller) : slots_(*slots), key_(KeyOf(caller)) {}
    ~Slot() { slots_.GiveBack(key_); }
    Slot(const Slot&) = delete;
    Slot& operator=(const Slot&) = delete;

   private:
    GetSlots& slots_;
    const std::pair<CallerKind, std::string> key_;
  };

  // UNAVAILABLE: the caller, or all users together, have as many as they may. The owner of the
  // coordinator has no limit, because his agents are all the same caller.
  absl::StatusOr<std::unique_ptr<Slot>> Take(const Caller& caller);

 private:
  using Key = std::pair<CallerKind, std::string>;

  static Key KeyOf(const Caller& caller) { return {caller.kind, caller.name}; }
  void GiveBack(const Key& key);

  absl::Mutex mutex_;
  std::map<Key, int> taken_ ABSL_GUARDED_BY(mutex_);  // Without those that have none.
  int of_users_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace accel::coordinator
