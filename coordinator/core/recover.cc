#include "coordinator/core/recover.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/job_phase.h"
#include "common/printable.h"
#include "common/status_macros.h"
#include "coordinator/core/access/access_rows.h"
#include "coordinator/core/job_bytes.h"
#include "coordinator/core/job_spec.h"
#include "coordinator/core/job_state.h"
#include "coordinator/core/node_report.h"
#include "coordinator/core/records.h"
#include "coordinator/core/recover_times.h"
#include "coordinator/core/sort_waiting.h"
#include "proto/store.pb.h"

namespace accel::coordinator {
namespace {

// The bits of a revision below the epoch: a coordinator can make a million revisions per second for
// twelve days, or a thousand for 34 years.
constexpr int kRevisionBits = 40;
constexpr int64_t kMaxEpoch = int64_t{1} << (63 - kRevisionBits);

absl::Status Damaged(absl::string_view key, absl::string_view why) {
  return absl::DataLossError(absl::StrCat("row ", key, " is damaged: ", why));
}

// Builds the state row by row.
class Recovery {
 public:
  Recovery(const Limits& limits, const Opening& opening, Changes* changes)
      : opening_(opening), changes_(*changes) {
    state_.limits = limits;
    state_.present_since = state_.listened_at = opening.now;
  }

  absl::StatusOr<ClusterState> Run(const std::vector<Row>& rows) {
    // The cluster's row comes first, because the others need its clock.
    const auto cluster = std::find_if(rows.begin(), rows.end(),
                                      [](const Row& row) { return row.key == kClusterKey; });
    if (cluster != rows.end()) ACCEL_RETURN_IF_ERROR(TakeCluster(*cluster));
    if (state_.facts.cluster_id.empty() && !rows.empty()) {
      return absl::DataLossError("the row of the cluster is missing");
    }
    BeginEpoch();
    for (const Row& row : rows) ACCEL_RETURN_IF_ERROR(Take(row));
    GrowForNodes(state_.nodes.size(), &state_);
    ACCEL_RETURN_IF_ERROR(FinishJobs());
    state_.waiting = FindWaiting(state_);
    TouchAll(&state_);
    FinishEnds();
    changes_.cluster = true;
    if (rebooted_) {
      for (const common::JobId& id : state_.unfinished.ids()) changes_.put.try_emplace(id);
    }
    return std::move(state_);
  }

 private:
  absl::Status Take(const Row& row) {
    ACCEL_ASSIGN_OR_RETURN(const bool taken, TakeAccessRow(row, &state_.access));
    if (taken) return absl::OkStatus();
    const absl::StatusOr<RowKey> key = ParseRowKey(row.key);
    if (!key.ok()) return absl::DataLossError(key.status().message());
    using Kind = RowKey::Kind;
    switch (key->kind) {
      case Kind::kCluster:
        return absl::OkStatus();  // Taken before all others.
      case Kind::kEnd:
        return TakeEnd(*key, row);
      case Kind::kNode:
        return TakeNode(*key, row);
      case Kind::kGeneration:
        return TakeGeneration(*key, row);
      case Kind::kSpec:
        return Parse(row, specs_[common::JobId(key->id)]);
      case Kind::kState:
        return TakeState(*key, row);
    }
    return absl::OkStatus();
  }

  template <typename Message>
  static absl::Status Parse(const Row& row, Message& message) {
    if (message.ParseFromString(row.value)) return absl::OkStatus();
    return Damaged(row.key, "it is no message of its kind");
  }

  absl::Status TakeCluster(const Row& row) {
    v1::StoredCluster stored;
    ACCEL_RETURN_IF_ERROR(Parse(row, stored));
    if (stored.schema() > kStoreSchema) {
      return absl::FailedPreconditionError(
          absl::StrCat("the rows have version ", stored.schema(), " of the layout, and this ",
                       "accel-coordinator knows versions up to ", kStoreSchema,
                       "; start the version of accel that wrote them, or a later one"));
    }
    if (stored.cluster_id().empty()) return Damaged(row.key, "it has no cluster id");
    if (stored.epoch() < 0 || stored.epoch() >= kMaxEpoch) {
      return Damaged(row.key, "it has an impossible number of starts");
    }
    state_.facts.cluster_id = stored.cluster_id();
    state_.facts.epoch = stored.epoch();
    if (!opening_.boot_id.empty() && stored.boot_id() == opening_.boot_id) return absl::OkStatus();
    rebooted_ = true;  // So this is another monotonic clock.
    shift_ = absl::Microseconds(stored.wall_minus_monotonic_us()) - (opening_.wall - opening_.now);
    return absl::OkStatus();
  }

  void BeginEpoch() {
    ClusterFacts& facts = state_.facts;
    if (facts.cluster_id.empty()) facts.cluster_id = opening_.cluster_id;
    ++facts.epoch;
    facts.boot_id = opening_.boot_id;
    state_.owner = opening_.owner;
    facts.wall_minus_monotonic = opening_.wall - opening_.now;
    state_.revision = static_cast<uint64_t>(facts.epoch) << kRevisionBits;
  }

  absl::Status TakeEnd(const RowKey& key, const Row& row) {
    v1::StoredEnd stored;
    ACCEL_RETURN_IF_ERROR(Parse(row, stored));
    if (stored.job_id() != key.id) return Damaged(row.key, "it is of another job");
    if (!common::IsFinal(stored.phase())) return Damaged(row.key, "its phase is not final");
    state_.ids.Skip(common::JobId(key.id));
    ends_.push_back(
        {{common::JobId(key.id), stored.submit_id(), stored.owner(), stored.phase(),
          stored.exit_code(), stored.ended_unix_ms()},
         std::min(FromStored(stored.dropped_us(), shift_, opening_.now), opening_.now)});
    return absl::OkStatus();
  }

  absl::Status TakeNode(const RowKey& key, const Row& row) {
    v1::StoredNode stored;
    ACCEL_RETURN_IF_ERROR(Parse(row, stored));
    if (stored.node_id() != key.id) return Damaged(row.key, "it is of another node");
    NodeEntry& node = state_.nodes[common::NodeId(key.id)];
    node.observed.set_node_id(stored.node_id());
    node.observed.set_name(stored.name());
    node.observed.set_address(stored.address());
    node.observed.set_boot_id(stored.boot_id());
    node.observed.set_incarnation(stored.incarnation());
    node.joined = node.last_heard = absl::InfinitePast();
    node.drain = stored.drain();
    node.given_up = stored.given_up();
    node.observed_bytes = SpaceOf(node.observed);
    state_.report_bytes += node.observed_bytes;
    node.has_gpus = stored.gpus();
    state_.gpus_seen |= stored.gpus();
    state_.node_names.try_emplace(stored.name(), common::NodeId(key.id));
    return absl::OkStatus();
  }

  absl::Status TakeGeneration(const RowKey& key, const Row& row) {
    v1::GenerationRecord* record = &generations_[common::JobId(key.id)][key.generation];
    ACCEL_RETURN_IF_ERROR(Parse(row, *record));
    if (record->generation() == key.generation) return absl::OkStatus();
    return Damaged(row.key, "it is of another generation");
  }

  absl::Status TakeState(const RowKey& key, const Row& row) {
    v1::StoredJob stored;
    ACCEL_RETURN_IF_ERROR(Parse(row, stored));
    if (stored.job().job_id() != key.id) return Damaged(row.key, "it is of another job");
    // The parser keeps numbers that name no phase.
    if (stored.job().phase() == v1::JOB_PHASE_UNSPECIFIED ||
        !v1::JobPhase_IsValid(stored.job().phase())) {
      return Damaged(row.key, "it has no phase");
    }
    if (!v1::AfterStop_IsValid(stored.job().next())) {
      return Damaged(row.key, "it continues with no phase");
    }
    JobEntry& entry = state_.jobs[common::JobId(key.id)];
    entry.job = std::move(*stored.mutable_job());
    entry.cancel = stored.cancel();
    entry.cancel_at_once = stored.cancel_at_once();
    entry.stop_grace = absl::Microseconds(stored.stop_grace_us());
    entry.history = History(stored);
    ReadTimes(stored, shift_, &entry);
    if (stored.spends() < 0 || stored.spends() > static_cast<int32_t>(Spends::kMembership)) {
      return Damaged(row.key, "it spends an unknown budget");
    }
    entry.spends = static_cast<Spends>(stored.spends());
    entry.cancelled_since = stored.cancelled_since();
    entry.reports_checkpoints = stored.reports_checkpoints();
    entry.stop_seen = stored.stop_seen();
    for (const std::string& node : stored.avoid()) entry.avoid.emplace(node);
    return absl::OkStatus();
  }

  // Returns the history without its times.
  static FailureHistory History(const v1::StoredJob& stored) {
    FailureHistory history;
    history.quick = stored.quick_failures();
    history.alike = stored.alike_failures();
    history.signature = stored.signature();
    history.blamed_node = common::NodeId(stored.blamed_node());
    history.blamed = stored.blamed_failures();
    return history;
  }

  absl::Status FinishJobs() {
    for (const auto& [id, spec] : specs_) {
      if (!state_.jobs.contains(id)) return NoState(id);
    }
    for (const auto& [id, records] : generations_) {
      if (!state_.jobs.contains(id)) return NoState(id);
    }
    for (auto& [id, entry] : state_.jobs) {
      const auto spec = specs_.find(id);
      if (spec == specs_.end()) {
        return absl::DataLossError(absl::StrCat("the spec of job ", id.value(), " is missing"));
      }
      if (const absl::Status shape = ValidateShape(spec->second); !shape.ok()) {
        return absl::DataLossError(
            absl::StrCat("the spec of job ", id.value(), " is damaged: ", shape.message()));
      }
      *entry.job.mutable_spec() = std::move(spec->second);
      FillAccount(entry.job.mutable_spec());
      entry.shape = ShapeOf(entry.job.spec());
      for (auto& [generation, record] : generations_[id]) {
        *entry.job.add_generations() = std::move(record);
      }
      ACCEL_RETURN_IF_ERROR(Finish(id, &entry));
    }
    std::stable_sort(state_.finished.begin(), state_.finished.end(),
                     [this](const common::JobId& a, const common::JobId& b) {
                       return state_.jobs.at(a).job.ended_unix_ms() <
                              state_.jobs.at(b).job.ended_unix_ms();
                     });
    return absl::OkStatus();
  }

  // An account that cannot be told remains empty, and agents that are root refuse the job.
  void FillAccount(v1::JobSpec* spec) const {
    if (!spec->runs_as().empty() || spec->owner().empty()) return;
    const auto member = state_.access.members.find({v1::USER_MEMBER, spec->owner()});
    if (member == state_.access.members.end()) {
      if (spec->owner() == opening_.owner) spec->set_runs_as(opening_.owner);
      return;
    }
    const std::string& own = member->second.runs_as();
    const std::string& account = own.empty() ? spec->owner() : own;
    // As in coordinator/access/job_account.h: only the coordinator's own user may be root.
    if (account != "root") spec->set_runs_as(account);
  }

  static absl::Status NoState(const common::JobId& id) {
    return absl::DataLossError(absl::StrCat("the state of job ", id.value(), " is missing"));
  }

  absl::Status Finish(const common::JobId& id, JobEntry* entry) {
    state_.ids.Skip(id);
    // A job whose submit was refused has no submit id.
    if (!entry->job.submit_id().empty()) state_.submits[entry->job.submit_id()] = id;
    RestoreBytes(entry, &state_);
    ClaimSockets(entry->job);
    if (common::IsFinal(entry->job.phase())) {
      state_.finished.push_back(id);
      return absl::OkStatus();
    }
    state_.unfinished.Insert(id, entry->job.spec().owner());
    LimitTimes(state_, opening_.now, entry);
    if (!HoldsNodes(entry->job.phase())) return absl::OkStatus();
    if (CurrentGeneration(entry->job) == nullptr) {
      return absl::DataLossError(
          absl::StrCat("the newest generation of job ", id.value(), " is missing"));
    }
    entry->start_revision = entry->stop_revision = ++state_.revision;
    return HoldNodes(id, *CurrentGeneration(entry->job));
  }

  absl::Status HoldNodes(const common::JobId& id, const v1::GenerationRecord& generation) {
    for (int i = 0; i < generation.placements_size(); ++i) {
      const v1::Placement& placement = generation.placements(i);
      const auto node = state_.nodes.find(common::NodeId(placement.node_id()));
      if (node == state_.nodes.end()) {
        return absl::DataLossError(
            absl::StrCat("node ", placement.node_id(), " of job ", id.value(), " is missing"));
      }
      node->second.jobs[id] = i;
      if (placement.store_socket() != 0) {
        node->second.consumed_sockets[placement.store_socket()] = true;
      }
    }
    return absl::OkStatus();
  }

  // Claims the sockets of all generations, those that are over too. Whether the node has closed
  // them already is known once it reports.
  void ClaimSockets(const v1::Job& job) {
    for (const v1::GenerationRecord& generation : job.generations()) {
      for (const v1::Placement& placement : generation.placements()) {
        const auto node = state_.nodes.find(common::NodeId(placement.node_id()));
        if (placement.store_socket() == 0 || node == state_.nodes.end()) continue;
        if (node->second.observed.boot_id() != placement.boot_id()) continue;
        node->second.consumed_sockets.try_emplace(placement.store_socket(), false);
      }
    }
  }

  void FinishEnds() {
    std::stable_sort(ends_.begin(), ends_.end(),
                     [](const auto& a, const auto& b) { return a.since < b.since; });
    for (EndedJobs::Kept& end : ends_) {
      if (rebooted_) changes_.ends.insert(end.job.id);
      for (common::JobId& id :
           state_.ended.Add(std::move(end.job), end.since, state_.limits.max_ended_bytes)) {
        changes_.ends.insert(std::move(id));
      }
    }
  }

  const Opening& opening_;
  Changes& changes_;
  ClusterState state_;
  bool rebooted_ = false;  // The rows are from another boot of this host, or from another host.
  absl::Duration shift_;   // From the stored monotonic clock to the present one.
  std::map<common::JobId, v1::JobSpec> specs_;
  std::map<common::JobId, std::map<common::Generation, v1::GenerationRecord>> generations_;
  std::vector<EndedJobs::Kept> ends_;
};

}  // namespace

absl::StatusOr<ClusterState> Recover(const std::vector<Row>& rows, const Limits& limits,
                                     const Opening& opening, Changes* changes) {
  Changes ignored;
  auto state = Recovery(limits, opening, changes == nullptr ? &ignored : changes).Run(rows);
  if (state.ok()) return state;
  // The message quotes keys and ids from a store that may be damaged.
  return absl::Status(state.status().code(),
                      common::Shortened(common::Printable(state.status().message()), 1024));
}

std::string DescribeRecovery(const ClusterState& state) {
  const auto queued =
      std::count_if(state.unfinished.ids().begin(), state.unfinished.ids().end(),
                    [&](const auto& id) { return !HoldsNodes(state.jobs.at(id).job.phase()); });
  return absl::StrCat(state.unfinished.ids().size() - static_cast<size_t>(queued),
                      " jobs that hold nodes, ", queued, " in the queue, ", state.finished.size(),
                      " finished, ", state.nodes.size(), " nodes");
}

}  // namespace accel::coordinator
