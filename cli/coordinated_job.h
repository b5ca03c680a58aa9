// The LaunchedJob of a launch whose coordinator is in this process.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "cli/launched_job.h"
#include "common/ids.h"
#include "common/wake_fd.h"
#include "coordinator/coordinator.h"

namespace accel::cli {

class CoordinatedJob final : public LaunchedJob {
 public:
  using OnChange = std::function<void(const v1::Job&)>;

  // `coordinator` must outlive the job. `on_change`, if not null, is called on the coordinator's
  // thread with each version of the job. Get() can already return that version then.
  CoordinatedJob(coordinator::Coordinator* coordinator, common::JobId id,
                 OnChange on_change = nullptr)
      : coordinator_(coordinator), id_(std::move(id)) {
    watch_ = coordinator_->WatchJob(
        coordinator::Owner(), id_, 0,
        [seen = seen_, on_change = std::move(on_change)](absl::StatusOr<coordinator::JobPtr> news) {
          seen->Set(news);
          if (on_change && news.ok()) on_change(**news);
        });
  }

  int wake_fd() const override { return seen_->wake.get(); }
  absl::StatusOr<coordinator::JobPtr> Get() override { return seen_->Get(); }
  void Cancel(int, bool at_once) override {
    coordinator_->CancelJob(coordinator::Owner(), id_, at_once, [](absl::Status) {});
  }

 private:
  // The newest version of the job. The coordinator's thread sets it. It is shared with that thread,
  // because a callback may still run for a moment after the watch has ended.
  struct Seen {
    common::WakeFd wake;
    absl::Mutex mutex;
    absl::StatusOr<coordinator::JobPtr> job ABSL_GUARDED_BY(mutex) = coordinator::JobPtr();

    void Set(absl::StatusOr<coordinator::JobPtr> changed) {
      absl::MutexLock lock(&mutex);
      job = std::move(changed);
      wake.Wake();
    }
    absl::StatusOr<coordinator::JobPtr> Get() {
      wake.Clear();
      absl::MutexLock lock(&mutex);
      return job;
    }
  };

  coordinator::Coordinator* const coordinator_;
  const common::JobId id_;
  const std::shared_ptr<Seen> seen_ = std::make_shared<Seen>();
  std::unique_ptr<coordinator::Subscription> watch_;
};

// Submits the job of a launch to the coordinator in this process, and waits for the answer. Errors
// are those of Coordinator::SubmitJob().
absl::StatusOr<common::JobId> SubmitLaunch(coordinator::Coordinator* coordinator,
                                           const v1::JobSpec& spec);

}  // namespace accel::cli
