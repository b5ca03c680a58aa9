// A store in memory. Its jobs are lost with the process. At present every coordinator uses it,
// unless ServerOptions names another store.
#pragma once

#include <map>

#include "coordinator/store/job_store.h"

namespace accel::coordinator {

// Not thread-safe, which JobStore does not require. `done` runs before Commit() returns.
class MemoryJobStore final : public JobStore {
 public:
  absl::StatusOr<std::vector<JobRecord>> Load() override;
  void Commit(JobBatch batch, absl::AnyInvocable<void(absl::Status)> done) override;

 private:
  std::map<common::JobId, std::string> records_;
};

}  // namespace accel::coordinator
