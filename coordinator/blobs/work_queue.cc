#include "coordinator/blobs/work_queue.h"

#include <utility>

#include "common/priority.h"

namespace accel::coordinator {

WorkQueue::WorkQueue(int threads) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Run(); });
}

WorkQueue::~WorkQueue() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  for (std::thread& thread : threads_) thread.join();
}

void WorkQueue::Post(std::function<void()> work) {
  absl::MutexLock lock(&mutex_);
  pending_.push_back(std::move(work));
}

void WorkQueue::Run() {
  common::LowerThreadPriority();
  const auto has_work = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || !pending_.empty();
  };
  while (true) {
    std::function<void()> work;
    {
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(&has_work));
      if (pending_.empty()) return;
      work = std::move(pending_.front());
      pending_.pop_front();
    }
    work();
  }
}

}  // namespace accel::coordinator
