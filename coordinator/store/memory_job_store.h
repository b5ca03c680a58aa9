// Keeps jobs as long as this object: for `accel launch` and tests.
#pragma once

#include <map>

#include "coordinator/store/job_store.h"

namespace accel::coordinator {

// Not thread-safe beyond what JobStore asks for; done runs before Commit() returns.
class MemoryJobStore final : public JobStore {
 public:
  absl::StatusOr<std::vector<JobRecord>> Load() override;
  void Commit(JobBatch batch, absl::AnyInvocable<void(absl::Status)> done) override;

 private:
  std::map<common::JobId, std::string> records_;
};

}  // namespace accel::coordinator
