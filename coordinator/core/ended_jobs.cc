#include "coordinator/core/ended_jobs.h"

#include <utility>

namespace accel::coordinator {
namespace {

// Approximate size of a record, its entries in both indexes, and the allocator's overhead.
constexpr int64_t kRecordBytes = 256;

}  // namespace

EndedJob EndOf(const v1::Job& job) {
  return {common::JobId(job.job_id()),
          job.submit_id(),
          job.spec().owner(),
          job.phase(),
          job.exit_code(),
          job.ended_unix_ms()};
}

v1::Job ToJob(const EndedJob& ended) {
  v1::Job job;
  job.set_job_id(ended.id.value());
  job.set_submit_id(ended.submit_id);
  job.mutable_spec()->set_owner(ended.owner);
  job.set_phase(ended.phase);
  job.set_exit_code(ended.exit_code);
  job.set_ended_unix_ms(ended.ended_unix_ms);
  job.set_reason(
      "Ended so long ago that only its phase, exit code and time of the end are still known.");
  return job;
}

int64_t EndedJobs::BytesOf(const EndedJob& job) {
  return kRecordBytes + static_cast<int64_t>(job.submit_id.size() + job.owner.size());
}

std::vector<common::JobId> EndedJobs::Add(EndedJob job, absl::Time now, int64_t max_bytes) {
  bytes_ += BytesOf(job);
  const Kept& kept = jobs_.emplace_back(Kept{std::move(job), now});
  by_id_[kept.job.id.value()] = &kept;
  if (!kept.job.submit_id.empty()) by_submit_[kept.job.submit_id] = &kept.job;
  std::vector<common::JobId> dropped;
  while (!jobs_.empty() && (bytes_ > max_bytes || now - jobs_.front().since > kKept)) {
    dropped.push_back(jobs_.front().job.id);
    DropOldest();
  }
  return dropped;
}

void EndedJobs::DropOldest() {
  const EndedJob& oldest = jobs_.front().job;
  bytes_ -= BytesOf(oldest);
  by_id_.erase(oldest.id.value());
  by_submit_.erase(oldest.submit_id);
  jobs_.pop_front();
}

const EndedJob* EndedJobs::FindBySubmit(const std::string& submit_id) const {
  const auto found = by_submit_.find(submit_id);
  return found == by_submit_.end() ? nullptr : found->second;
}

const EndedJob* EndedJobs::Find(const common::JobId& id) const {
  const Kept* kept = FindKept(id);
  return kept == nullptr ? nullptr : &kept->job;
}

const EndedJobs::Kept* EndedJobs::FindKept(const common::JobId& id) const {
  const auto found = by_id_.find(id.value());
  return found == by_id_.end() ? nullptr : found->second;
}

}  // namespace accel::coordinator
