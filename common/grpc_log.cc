#include "common/grpc_log.h"

#include <grpc/support/log.h>

#include <cstdint>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/log_throttle.h"
#include "common/printable.h"

namespace accel::common {
namespace {

constexpr size_t kMaxBytes = 512;

// Admits one line per second.
class Throttle {
 public:
  std::optional<int64_t> Admit() {
    absl::MutexLock lock(&mutex_);
    return throttle_.Admit(SteadyClock()->Now());
  }

 private:
  absl::Mutex mutex_;
  LogThrottle throttle_ ABSL_GUARDED_BY(mutex_){absl::Seconds(1)};
};

void Take(gpr_log_func_args* args) {
  static auto* const throttle = new Throttle;  // gRPC's threads may log after static destructors.
  const std::optional<int64_t> others = throttle->Admit();
  if (!others.has_value()) return;
  Log(args->severity == GPR_LOG_SEVERITY_ERROR ? LogLevel::kWarning : LogLevel::kInfo,
      "gRPC reports",
      {{"what", Shortened(Printable(args->message), kMaxBytes)}, {"others_since", *others}});
}

}  // namespace

void TakeGrpcLog() { gpr_set_log_function(Take); }

}  // namespace accel::common
