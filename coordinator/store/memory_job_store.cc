#include "coordinator/store/memory_job_store.h"

#include <utility>

namespace accel::coordinator {

absl::StatusOr<std::vector<JobRecord>> MemoryJobStore::Load() {
  return std::vector<JobRecord>(records_.begin(), records_.end());
}

void MemoryJobStore::Commit(JobBatch batch, absl::AnyInvocable<void(absl::Status)> done) {
  for (JobRecord& record : batch.put) records_[record.first] = std::move(record.second);
  for (const common::JobId& id : batch.erase) records_.erase(id);
  done(absl::OkStatus());
}

}  // namespace accel::coordinator
