// A CoordinatorLink to a coordinator in the same process.
#pragma once

#include <memory>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "agent/coordinator_link.h"
#include "common/wake_fd.h"
#include "coordinator/coordinator.h"

namespace accel::cli {

class LocalLink final : public agent::CoordinatorLink {
 public:
  // `coordinator` must outlive the link.
  explicit LocalLink(coordinator::Coordinator* coordinator);

  uint64_t session() override { return 1; }
  void Report(v1::NodeObserved observed) override { session_->Report(std::move(observed)); }
  int64_t max_report_bytes() override { return agent::kMaxReportBytes; }
  std::optional<v1::NodeDesired> TakeDesired(uint64_t session) override;
  absl::Status fatal() override;
  int wake_fd() const override { return inbox_->wake.get(); }

 private:
  // Shared with the callbacks, because a callback may still run for a moment after the
  // link is gone.
  struct Inbox {
    common::WakeFd wake;
    absl::Mutex mutex;
    coordinator::DesiredPtr desired ABSL_GUARDED_BY(mutex);
    absl::Status closed ABSL_GUARDED_BY(mutex);
  };

  const std::shared_ptr<Inbox> inbox_;
  std::unique_ptr<coordinator::AgentSession> session_;
};

}  // namespace accel::cli
