// Who may call: everybody who sends `authorization: Bearer TOKEN`.
#pragma once

#include <grpcpp/server_context.h>

#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/log_throttle.h"

namespace accel {

// Thread-safe.
class Authentication {
 public:
  Authentication(std::string token, Clock* clock) : token_(std::move(token)), clock_(clock) {}

  // UNAUTHENTICATED, with what to do. Logs at most one line a second about refused calls.
  grpc::Status Check(const grpc::CallbackServerContext& context);

 private:
  bool Presents(const grpc::CallbackServerContext& context) const;
  void LogRefusal(const std::string& peer);

  const std::string token_;
  Clock* const clock_;
  absl::Mutex mutex_;
  LogThrottle refusals_ ABSL_GUARDED_BY(mutex_){absl::Seconds(1)};
};

}  // namespace accel
