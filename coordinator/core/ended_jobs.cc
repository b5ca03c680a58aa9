#include "coordinator/core/ended_jobs.h"

#include <utility>

namespace accel::coordinator {
namespace {

// Approximate size of a record, its entries in both indexes, and the allocator's overhead.
constexpr int64_t kRecordBytes = 256;

const EndedJob* FindIn(const absl::flat_hash_map<absl::string_view, const EndedJob*>& index,
                       const std::string& key) {
  const auto found = index.find(key);
  return found == index.end() ? nullptr : found->second;
}

}  // namespace

EndedJob EndOf(const v1::Job& job) {
  return {common::JobId(job.job_id()), job.submit_id(), job.phase(), job.exit_code(),
          job.ended_unix_ms()};
}

v1::Job ToJob(const EndedJob& ended) {
  v1::Job job;
  job.set_job_id(ended.id.value());
  job.set_submit_id(ended.submit_id);
  job.set_phase(ended.phase);
  job.set_exit_code(ended.exit_code);
  job.set_ended_unix_ms(ended.ended_unix_ms);
  job.set_reason(
      "Ended so long ago that only its phase, exit code and time of the end are still known.");
  return job;
}

int64_t EndedJobs::BytesOf(const EndedJob& job) {
  return kRecordBytes + static_cast<int64_t>(job.submit_id.size());
}

void EndedJobs::Add(EndedJob job, absl::Time now, int64_t max_bytes) {
  bytes_ += BytesOf(job);
  const EndedJob& kept = jobs_.emplace_back(Kept{std::move(job), now}).job;
  by_id_[kept.id.value()] = &kept;
  by_submit_[kept.submit_id] = &kept;
  while (!jobs_.empty() && (bytes_ > max_bytes || now - jobs_.front().since > kKept)) {
    DropOldest();
  }
}

void EndedJobs::DropOldest() {
  const EndedJob& oldest = jobs_.front().job;
  bytes_ -= BytesOf(oldest);
  by_id_.erase(oldest.id.value());
  by_submit_.erase(oldest.submit_id);
  jobs_.pop_front();
}

const EndedJob* EndedJobs::FindBySubmit(const std::string& submit_id) const {
  return FindIn(by_submit_, submit_id);
}

const EndedJob* EndedJobs::Find(const common::JobId& id) const {
  return FindIn(by_id_, id.value());
}

}  // namespace accel::coordinator
