// The authority that a running coordinator uses. A rotation replaces it while calls are served.
#pragma once

#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "coordinator/members/cluster_authority.h"

namespace accel::coordinator {

// Thread-safe.
class PresentAuthority {
 public:
  explicit PresentAuthority(ClusterAuthority authority)
      : authority_(std::make_shared<const ClusterAuthority>(std::move(authority))) {}

  // Returns the authority. A call that needs the authority twice must call this once, because Set()
  // may replace it in between.
  std::shared_ptr<const ClusterAuthority> get() const {
    absl::MutexLock lock(&mutex_);
    return authority_;
  }

  void Set(ClusterAuthority authority) {
    auto next = std::make_shared<const ClusterAuthority>(std::move(authority));
    absl::MutexLock lock(&mutex_);
    authority_ = std::move(next);
  }

 private:
  mutable absl::Mutex mutex_;
  std::shared_ptr<const ClusterAuthority> authority_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace accel::coordinator
