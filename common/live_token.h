// The token of a daemon whose user may replace it while the daemon runs. Thread-safe.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

namespace accel::common {

class LiveToken {
 public:
  // `read` finds the token of today, for example again in the file where `token` was.
  LiveToken(std::string token, std::function<absl::StatusOr<std::string>()> read)
      : read_(std::move(read)), token_(std::move(token)) {}

  std::string Get() const {
    absl::MutexLock lock(&mutex_);
    return token_;
  }

  // For who was refused with the old one. True if there is another now; what cannot be read leaves
  // the old one.
  bool Refresh() {
    absl::StatusOr<std::string> token = read_();
    absl::MutexLock lock(&mutex_);
    if (!token.ok() || *token == token_) return false;
    token_ = *std::move(token);
    return true;
  }

 private:
  const std::function<absl::StatusOr<std::string>()> read_;
  mutable absl::Mutex mutex_;
  std::string token_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace accel::common
