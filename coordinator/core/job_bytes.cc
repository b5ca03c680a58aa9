#include "coordinator/core/job_bytes.h"

namespace accel::coordinator {
namespace {

int64_t Twice(const google::protobuf::Message& message) {
  return 2 * static_cast<int64_t>(message.SpaceUsedLong());
}

void CountNewestAs(int64_t bytes, JobEntry* entry, ClusterState* state) {
  CountBytes(bytes - entry->newest_bytes, entry, state);
  entry->newest_bytes = bytes;
}

}  // namespace

int64_t ResidentBytes(const v1::JobSpec& spec) { return Twice(spec); }

void CountBytes(int64_t more, JobEntry* entry, ClusterState* state) {
  entry->bytes += more;
  state->job_bytes += more;
}

void CountNewest(JobEntry* entry, ClusterState* state) {
  const v1::GenerationRecord* record = CurrentGeneration(entry->job);
  if (record != nullptr) CountNewestAs(Twice(*record) + Twice(entry->job.cause()), entry, state);
}

void SettleNewest(JobEntry* entry, ClusterState* state) {
  const v1::GenerationRecord* record = CurrentGeneration(entry->job);
  if (record != nullptr) CountNewestAs(Twice(*record), entry, state);
  entry->newest_bytes = 0;
}

common::Generation DropRecord(JobEntry* entry, ClusterState* state) {
  auto* records = entry->job.mutable_generations();
  const auto dropped = records->begin() + (records->size() > 2 ? 1 : 0);
  const common::Generation generation = dropped->generation();
  CountBytes(-Twice(*dropped), entry, state);
  records->erase(dropped);
  return generation;
}

void RestoreBytes(JobEntry* entry, ClusterState* state) {
  CountBytes(ResidentBytes(entry->job.spec()), entry, state);
  for (int i = 0; i + 1 < entry->job.generations_size(); ++i) {
    CountBytes(Twice(entry->job.generations(i)), entry, state);
  }
  CountNewest(entry, state);
}

}  // namespace accel::coordinator
