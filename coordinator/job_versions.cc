#include "coordinator/job_versions.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace accel::coordinator {

// A version, and what it shares. The message refers to the shared parts as if it owned them, and
// gives them up before it is destroyed. Nobody changes them: a version is const.
struct JobVersions::Version {
  using Record = std::shared_ptr<v1::GenerationRecord>;

  ~Version() {
    job.unsafe_arena_release_spec();
    while (!job.generations().empty()) job.mutable_generations()->UnsafeArenaReleaseLast();
  }

  // Returns null if this version does not have the generation.
  Record Find(common::Generation generation) const {
    const auto found = std::find_if(records.begin(), records.end(), [&](const Record& record) {
      return record->generation() == generation;
    });
    return found == records.end() ? nullptr : *found;
  }

  v1::Job job;
  std::shared_ptr<v1::JobSpec> spec;
  std::vector<Record> records;  // One for each of job.generations().
};

std::shared_ptr<const v1::Job> JobVersions::Next(const std::set<common::Generation>& changed,
                                                 v1::Job* job) {
  auto version = std::make_shared<Version>();
  // Takes the shared parts out of the job, so that they are not copied.
  v1::JobSpec* const spec = job->release_spec();
  google::protobuf::RepeatedPtrField<v1::GenerationRecord> generations;
  generations.Swap(job->mutable_generations());
  version->job = *job;
  generations.Swap(job->mutable_generations());
  job->set_allocated_spec(spec);

  if (spec != nullptr) {
    version->spec = newest_ == nullptr ? std::make_shared<v1::JobSpec>(*spec) : newest_->spec;
    version->job.unsafe_arena_set_allocated_spec(version->spec.get());
  }
  for (const v1::GenerationRecord& generation : job->generations()) {
    const bool may_share = newest_ != nullptr && !changed.contains(generation.generation());
    Version::Record record = may_share ? newest_->Find(generation.generation()) : nullptr;
    if (record == nullptr) record = std::make_shared<v1::GenerationRecord>(generation);
    version->job.mutable_generations()->UnsafeArenaAddAllocated(record.get());
    version->records.push_back(std::move(record));
  }
  newest_ = std::move(version);
  return newest();
}

std::shared_ptr<const v1::Job> JobVersions::newest() const { return {newest_, &newest_->job}; }

}  // namespace accel::coordinator
