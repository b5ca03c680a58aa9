// The token of a daemon, which the user may replace while the daemon runs. Thread-safe.
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
  // `read` returns the current token, for example by reading again the file that `token` came from.
  LiveToken(std::string token, std::function<absl::StatusOr<std::string>()> read)
      : read_(std::move(read)), token_(std::move(token)) {}

  std::string Get() const {
    absl::MutexLock lock(&mutex_);
    return token_;
  }

  // Reads the token again. Call it after the old token was refused. Returns true if the token has
  // changed. If it cannot be read, keeps the old token and returns false.
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
