// A queue of length one between the coordinator's loop and one gRPC stream. The loop puts values
// in, and the stream writes them when it can. A new value replaces a value that was not written
// yet, so a slow reader costs the memory of one value.
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
  // Receives a value, or else nullopt and the status with which the stream ends.
  using Ready = absl::AnyInvocable<void(std::optional<T>, absl::Status)>;

  // Puts a value in. It replaces a value that was not yet pulled. Ignored after End().
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

  // Ends the stream after a value that was not yet pulled. Only the first call has an effect.
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

  // Calls `ready` once, when there is a value or the end. Only one call may be pending at a time.
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

  // Notes that the stream is gone. Drops the value, if any, and ends with CANCELLED.
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
