#include "coordinator/job_versions.h"

#include <utility>
#include <vector>

namespace accel::coordinator {

// A version, and what it shares. The message refers to the shared parts as if it owned them, and
// gives them up before it is destroyed. Nobody changes them: a version is const.
struct JobVersions::Version {
  ~Version() {
    job.unsafe_arena_release_spec();
    while (!job.generations().empty()) job.mutable_generations()->UnsafeArenaReleaseLast();
  }

  v1::Job job;
  std::shared_ptr<v1::JobSpec> spec;
  std::vector<Record> records;
};

std::shared_ptr<const v1::Job> JobVersions::Next(const std::set<common::Generation>& changed,
                                                 v1::Job* job) {
  if (spec_ == nullptr) spec_ = std::make_shared<v1::JobSpec>(job->spec());
  auto version = std::make_shared<Version>();

  // Takes the shared parts out of the job, so that they are not copied.
  const bool has_spec = job->has_spec();
  v1::JobSpec* const spec = job->release_spec();
  google::protobuf::RepeatedPtrField<v1::GenerationRecord> generations;
  generations.Swap(job->mutable_generations());
  version->job = *job;
  generations.Swap(job->mutable_generations());
  if (has_spec) job->set_allocated_spec(spec);

  if (has_spec) version->job.unsafe_arena_set_allocated_spec(spec_.get());
  version->spec = spec_;
  std::map<common::Generation, Record> records;
  for (const v1::GenerationRecord& generation : job->generations()) {
    const auto known = records_.find(generation.generation());
    Record record = known == records_.end() || changed.contains(generation.generation())
                        ? std::make_shared<v1::GenerationRecord>(generation)
                        : known->second;
    version->job.mutable_generations()->UnsafeArenaAddAllocated(record.get());
    version->records.push_back(record);
    records.emplace(generation.generation(), std::move(record));
  }
  records_ = std::move(records);
  return {version, &version->job};
}

}  // namespace accel::coordinator
