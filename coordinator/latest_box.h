// Between the coordinator's loop, which tells, and one stream, which writes when it can: only the
// newest value waits, so a slow reader costs one value of memory.
#pragma once

#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"

namespace accel::coordinator {

// Thread-safe. Callbacks run outside the lock, on the thread whose call completed them.
template <typename T>
class LatestBox {
 public:
  // A value, or else the status with which the stream ends.
  using Ready = absl::AnyInvocable<void(std::optional<T>, absl::Status)>;

  // Replaces a value that still waits.
  void Put(T value) {
    Ready ready;
    {
      absl::MutexLock lock(&mutex_);
      if (end_.has_value()) return;
      if (!waiting_) {
        value_ = std::move(value);
        return;
      }
      ready = std::exchange(waiting_, nullptr);
    }
    ready(std::move(value), absl::OkStatus());
  }

  // Nothing follows the value that waits. The first end counts.
  void End(absl::Status status) {
    Ready ready;
    {
      absl::MutexLock lock(&mutex_);
      if (end_.has_value()) return;
      end_ = status;
      if (!waiting_) return;
      ready = std::exchange(waiting_, nullptr);
    }
    ready(std::nullopt, std::move(status));
  }

  // Calls ready once, when there is something. One at a time.
  void Pull(Ready ready) {
    std::optional<T> value;
    absl::Status end;
    {
      absl::MutexLock lock(&mutex_);
      if (!value_.has_value() && !end_.has_value()) {
        waiting_ = std::move(ready);
        return;
      }
      value.swap(value_);
      if (!value.has_value()) end = *end_;
    }
    ready(std::move(value), std::move(end));
  }

  // The stream is gone: what waits is dropped, and Pull() ends with CANCELLED.
  void Cancel() {
    {
      absl::MutexLock lock(&mutex_);
      value_.reset();
    }
    End(absl::CancelledError("the caller has gone"));
  }

 private:
  absl::Mutex mutex_;
  std::optional<T> value_ ABSL_GUARDED_BY(mutex_);
  std::optional<absl::Status> end_ ABSL_GUARDED_BY(mutex_);
  Ready waiting_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace accel::coordinator
