#include "coordinator/core/records.h"

#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "coordinator/core/access/access_rows.h"

namespace accel::coordinator {
namespace {

std::string JobPrefix(const common::JobId& id) { return absl::StrCat("job/", id.value(), "/"); }
std::string StateKey(const common::JobId& id) { return absl::StrCat(JobPrefix(id), "state"); }
std::string SpecKey(const common::JobId& id) { return absl::StrCat(JobPrefix(id), "spec"); }
std::string EndKey(const common::JobId& id) { return absl::StrCat("end/", id.value()); }
std::string NodeKey(const common::NodeId& id) { return absl::StrCat("node/", id.value()); }

// The number has a fixed width, so that the keys of a job's generations sort by number.
std::string GenerationKey(const common::JobId& id, common::Generation generation) {
  return absl::StrCat(JobPrefix(id), "generation/", absl::Dec(generation, absl::kZeroPad10));
}

int64_t ToStored(absl::Time time) {
  const bool set = time != absl::InfiniteFuture() && time != absl::InfinitePast();
  return set ? absl::ToUnixMicros(time) : 0;
}

v1::Job WithoutSpecAndGenerations(const v1::Job& job) {
  v1::Job rest;
  rest.set_job_id(job.job_id());
  rest.set_submit_id(job.submit_id());
  rest.set_phase(job.phase());
  rest.set_next(job.next());
  rest.set_reason(job.reason());
  rest.set_failures(job.failures());
  rest.set_replans(job.replans());
  if (job.has_cause()) *rest.mutable_cause() = job.cause();
  rest.set_exit_code(job.exit_code());
  rest.set_submitted_unix_ms(job.submitted_unix_ms());
  rest.set_ended_unix_ms(job.ended_unix_ms());
  rest.set_version(job.version());
  rest.set_devices(job.devices());
  rest.set_start_failures(job.start_failures());
  rest.set_membership_changes(job.membership_changes());
  rest.set_stopping_for(job.stopping_for());
  return rest;
}

v1::StoredJob ToStored(const JobEntry& entry) {
  v1::StoredJob stored;
  *stored.mutable_job() = WithoutSpecAndGenerations(entry.job);
  stored.set_cancel(entry.cancel);
  stored.set_cancel_at_once(entry.cancel_at_once);
  stored.set_stop_grace_us(absl::ToInt64Microseconds(entry.stop_grace));
  stored.set_start_by_us(ToStored(entry.start_by));
  stored.set_end_by_us(ToStored(entry.end_by));
  stored.set_started_us(ToStored(entry.started));
  stored.set_not_before_us(ToStored(entry.not_before));
  const FailureHistory& history = entry.history;
  stored.set_quick_failures(history.quick);
  for (const absl::Time at : history.failures) stored.add_failures_us(ToStored(at));
  for (const absl::Time at : history.membership_changes) {
    stored.add_membership_changes_us(ToStored(at));
  }
  stored.set_signature(history.signature);
  stored.set_alike_failures(history.alike);
  stored.set_blamed_node(history.blamed_node.value());
  stored.set_blamed_failures(history.blamed);
  stored.set_failed_earliest_us(ToStored(entry.failed.earliest));
  stored.set_failed_latest_us(ToStored(entry.failed.latest));
  stored.set_spends(static_cast<int32_t>(entry.spends));
  stored.set_cancelled_since(entry.cancelled_since);
  stored.set_reports_checkpoints(entry.reports_checkpoints);
  stored.set_stop_seen(entry.stop_seen);
  for (const common::NodeId& node : entry.avoid) stored.add_avoid(node.value());
  return stored;
}

v1::StoredEnd ToStored(const EndedJobs::Kept& ended) {
  v1::StoredEnd stored;
  stored.set_job_id(ended.job.id.value());
  stored.set_submit_id(ended.job.submit_id);
  stored.set_owner(ended.job.owner);
  stored.set_phase(ended.job.phase);
  stored.set_exit_code(ended.job.exit_code);
  stored.set_ended_unix_ms(ended.job.ended_unix_ms);
  stored.set_dropped_us(ToStored(ended.since));
  return stored;
}

v1::StoredNode ToStored(const common::NodeId& id, const NodeEntry& node) {
  v1::StoredNode stored;
  stored.set_node_id(id.value());
  stored.set_name(node.observed.name());
  stored.set_address(node.observed.address());
  stored.set_boot_id(node.observed.boot_id());
  stored.set_incarnation(node.observed.incarnation());
  stored.set_gpus(node.has_gpus);
  stored.set_drain(node.drain);
  stored.set_given_up(node.given_up);
  return stored;
}

v1::StoredCluster ToStored(const ClusterFacts& facts) {
  v1::StoredCluster stored;
  stored.set_schema(kStoreSchema);
  stored.set_cluster_id(facts.cluster_id);
  stored.set_epoch(facts.epoch);
  stored.set_boot_id(facts.boot_id);
  stored.set_wall_minus_monotonic_us(absl::ToInt64Microseconds(facts.wall_minus_monotonic));
  return stored;
}

const v1::GenerationRecord* FindRecord(const v1::Job& job, common::Generation generation) {
  for (const v1::GenerationRecord& record : job.generations()) {
    if (record.generation() == generation) return &record;
  }
  return nullptr;
}

void AddJob(const ClusterState& state, const common::JobId& id, const JobChange& change,
            RowBatch* batch) {
  const JobEntry& entry = state.jobs.at(id);
  batch->put.push_back({StateKey(id), ToStored(entry).SerializeAsString()});
  if (change.created) batch->put.push_back({SpecKey(id), entry.job.spec().SerializeAsString()});
  for (const common::Generation generation : change.generations) {
    if (const v1::GenerationRecord* record = FindRecord(entry.job, generation)) {
      batch->put.push_back({GenerationKey(id, generation), record->SerializeAsString()});
    } else {
      batch->erase.push_back(GenerationKey(id, generation));
    }
  }
}

}  // namespace

absl::StatusOr<RowKey> ParseRowKey(absl::string_view key) {
  using Kind = RowKey::Kind;
  const std::vector<std::string> parts = absl::StrSplit(key, '/');
  if (key == kClusterKey) return RowKey{Kind::kCluster, "", 0};
  if (parts.size() == 2 && parts[0] == "end") return RowKey{Kind::kEnd, parts[1], 0};
  if (parts.size() == 2 && parts[0] == "node") return RowKey{Kind::kNode, parts[1], 0};
  if (parts.size() == 3 && parts[0] == "job") {
    if (parts[2] == "spec") return RowKey{Kind::kSpec, parts[1], 0};
    if (parts[2] == "state") return RowKey{Kind::kState, parts[1], 0};
  }
  RowKey row{Kind::kGeneration, "", 0};
  if (parts.size() == 4 && parts[0] == "job" && parts[2] == "generation" &&
      absl::SimpleAtoi(parts[3], &row.generation)) {
    row.id = parts[1];
    return row;
  }
  return absl::InvalidArgumentError(absl::StrCat("no row has the key ", key));
}

RowBatch RowsOf(const ClusterState& state, const Changes& changes) {
  RowBatch batch;
  if (changes.cluster) {
    batch.put.push_back({std::string(kClusterKey), ToStored(state.facts).SerializeAsString()});
  }
  for (const auto& [id, change] : changes.put) AddJob(state, id, change, &batch);
  for (const common::JobId& id : changes.erase) batch.erase.push_back(JobPrefix(id));
  for (const common::JobId& id : changes.ends) {
    if (const EndedJobs::Kept* end = state.ended.FindKept(id)) {
      batch.put.push_back({EndKey(id), ToStored(*end).SerializeAsString()});
    } else {
      batch.erase.push_back(EndKey(id));
    }
  }
  for (const common::NodeId& id : changes.registered) {
    const auto node = state.nodes.find(id);
    if (node != state.nodes.end()) {
      batch.put.push_back({NodeKey(id), ToStored(id, node->second).SerializeAsString()});
    } else {
      batch.erase.push_back(NodeKey(id));
    }
  }
  AddAccessRows(state.access, changes.access, &batch);
  return batch;
}

}  // namespace accel::coordinator
