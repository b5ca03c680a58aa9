#include "coordinator/core/requests.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/job_phase.h"
#include "common/status_macros.h"
#include "coordinator/core/devices.h"
#include "coordinator/core/job_bytes.h"
#include "coordinator/core/job_owner.h"
#include "coordinator/core/job_spec.h"
#include "coordinator/core/job_state.h"
#include "coordinator/core/sort_waiting.h"

namespace accel::coordinator {
namespace {

constexpr size_t kMaxSubmitIdBytes = 128;

absl::Status CheckSubmitId(const std::string& value) {
  if (!value.empty() && value.size() <= kMaxSubmitIdBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("submit_id must have 1 to ", kMaxSubmitIdBytes,
                                                 " characters, not ", value.size()));
}

// Refuses a job of this user if the queue is nearly full and the user already has a large share of
// it. The remaining room is kept for other users.
absl::Status CheckShare(const ClusterState& state, const std::string& owner) {
  const Limits& limits = state.limits;
  const bool is_scarce =
      static_cast<int>(state.unfinished.ids().size()) >= limits.max_unfinished_jobs / 10 * 9;
  const int own = state.unfinished.CountOf(owner);
  if (!is_scarce || owner == state.owner || own < limits.max_unfinished_jobs / 100) {
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(
      absl::StrCat("the queue is nearly full, and the rest is for users who have fewer jobs: you "
                   "have ",
                   own, " that wait or run; try again when some have ended"));
}

absl::Status CheckRoom(const ClusterState& state, const v1::JobSpec& spec) {
  if (static_cast<int>(state.unfinished.ids().size()) >= state.limits.max_unfinished_jobs) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the queue is full: ", state.unfinished.ids().size(),
                     " jobs wait or run; try again when some have ended"));
  }
  ACCEL_RETURN_IF_ERROR(CheckShare(state, spec.owner()));
  if (state.job_bytes + ResidentBytes(spec) > state.limits.max_job_bytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the coordinator keeps at most ", state.limits.max_job_bytes,
                     " bytes of jobs in memory; try again when some have ended"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<common::JobId> SubmitJob(const std::string& submit_id, v1::JobSpec spec,
                                        absl::Time wall, ClusterState* state, Changes* changes) {
  ACCEL_RETURN_IF_ERROR(CheckSubmitId(submit_id));
  const auto known = state->submits.find(submit_id);
  if (known != state->submits.end()) return known->second;
  if (const EndedJob* ended = state->ended.FindBySubmit(submit_id)) return ended->id;
  ACCEL_RETURN_IF_ERROR(ValidateJobSpec(spec));
  ACCEL_RETURN_IF_ERROR(CheckRoom(*state, spec));

  const common::JobId id = state->ids.Next(wall);
  JobEntry& entry = state->jobs[id];
  CountBytes(ResidentBytes(spec), &entry, state);
  v1::Job& job = entry.job;
  job.set_job_id(id.value());
  job.set_submit_id(submit_id);
  *job.mutable_spec() = std::move(spec);
  entry.shape = ShapeOf(job.spec());
  job.set_devices(DecideDevices(job.spec(), *state));
  job.set_phase(v1::PENDING);
  job.set_reason("Accepted.");
  job.set_submitted_unix_ms(absl::ToUnixMillis(wall));
  job.set_version(1);
  state->submits[submit_id] = id;
  state->unfinished.Insert(id, job.spec().owner());
  SortWaiting(entry, state);
  state->agenda.Touch(id);
  state->agenda.TouchQueue();
  changes->put[id].created = true;
  return id;
}

void TakeBack(const common::JobId& id, ClusterState* state) {
  JobEntry& entry = state->jobs.at(id);
  if (entry.job.submit_id().empty()) return;
  state->submits.erase(entry.job.submit_id());
  entry.job.clear_submit_id();
  // Nodes learn of a start only once it is stored, and by then the job is cancelled.
  entry.cancel = entry.cancel_at_once = true;
  state->agenda.Touch(id);
}

absl::Status CancelJob(const common::JobId& id, bool at_once, ClusterState* state,
                       Changes* changes) {
  JobEntry* entry = FindJob(state, id);
  if (entry == nullptr && state->ended.Find(id) != nullptr) return absl::OkStatus();
  if (entry == nullptr) return NoSuchJob(id);
  if (common::IsFinal(entry->job.phase())) return absl::OkStatus();
  entry->cancel = true;
  entry->cancel_at_once |= at_once;
  state->agenda.Touch(id);
  changes->put.try_emplace(id);
  return absl::OkStatus();
}

absl::Status DrainNode(const std::string& node, v1::Drain drain, absl::Time now,
                       ClusterState* state, Changes* changes) {
  auto found = state->nodes.find(common::NodeId(node));
  if (found == state->nodes.end()) {
    const auto named = state->node_names.find(node);
    if (named != state->node_names.end()) found = state->nodes.find(named->second);
  }
  if (found == state->nodes.end()) {
    return absl::NotFoundError(absl::StrCat("there is no node ", node));
  }
  if (!v1::Drain_IsValid(drain)) {
    return absl::InvalidArgumentError(
        absl::StrCat("drain: ", static_cast<int>(drain), " is unknown"));
  }
  NodeEntry& entry = found->second;
  // Only a report of the node takes this back.
  const bool given_up =
      entry.given_up || (drain == v1::MOVE_JOBS && !IsConnected(*state, entry, now));
  if (entry.drain == drain && entry.given_up == given_up) return absl::OkStatus();
  entry.drain = drain;
  entry.given_up = given_up;
  for (const auto& [id, machine_rank] : entry.jobs) state->agenda.Touch(id);
  state->ledger.Touch(found->first);
  changes->registered.insert(found->first);
  return absl::OkStatus();
}

}  // namespace accel::coordinator
