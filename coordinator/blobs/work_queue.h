// Threads for work that waits for the disk. The threads that serve calls must not wait for it,
// because each of them serves the calls of many callers.
#pragma once

#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace accel::coordinator {

// Thread-safe. The number of pending functions is bounded by the number of calls that post them.
class WorkQueue {
 public:
  explicit WorkQueue(int threads);
  // Runs all pending functions, and ends the threads.
  ~WorkQueue();

  // Runs `work` on one of the threads.
  void Post(std::function<void()> work);

 private:
  void Run();

  absl::Mutex mutex_;
  std::deque<std::function<void()>> pending_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace accel::coordinator
