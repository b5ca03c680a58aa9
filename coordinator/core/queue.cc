#include "coordinator/core/queue.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/exit_text.h"
#include "coordinator/core/devices.h"
#include "coordinator/core/exit_status.h"
#include "coordinator/core/placement.h"
#include "coordinator/core/wording.h"

namespace accel::coordinator {
namespace {

Action Start(const common::JobId& id, v1::Devices devices, Assignment assignment) {
  v1::GenerationRecord world;
  std::vector<std::string> names;
  for (const v1::Placement& placement : assignment.placements) {
    *world.add_placements() = placement;
    names.push_back(placement.node_name());
  }
  StartGeneration start;
  start.job = id;
  start.devices = devices;
  start.reason =
      absl::StrCat("Starting ", DescribeWorld(world), "; waiting for ", NameNodes(names), ".");
  start.placements = std::move(assignment.placements);
  start.master_addr = std::move(assignment.master_addr);
  start.master_port = assignment.master_port;
  return start;
}

Action Refuse(const common::JobId& id, const std::string& reason) {
  v1::FailureCause cause;
  cause.set_rank(-1);
  cause.mutable_exit()->set_kind(v1::ExitRecord::NOT_STARTED);
  cause.mutable_exit()->set_message(reason);
  const int exit_code = JobExitCode(cause.exit());
  return EndUnplaced{id, v1::FAILED, exit_code, std::move(cause), reason};
}

std::string WithLastFailure(const v1::Job& job, std::string reason) {
  if (!job.has_cause()) return reason;
  return absl::StrCat(reason, " Last failure: ", common::DescribeFailure(job.cause()), ".");
}

// Returns the nodes that the job gets only if it does not fit on others.
std::set<common::NodeId> AvoidedBy(const JobEntry& entry) {
  std::set<common::NodeId> avoided = entry.avoid;
  if (entry.history.blamed >= kMinBlamed) avoided.insert(entry.history.blamed_node);
  return avoided;
}

}  // namespace

bool PlanQueue(const ClusterState& state, const std::vector<const JobEntry*>& queue, Ledger* ledger,
               std::vector<Action>* actions) {
  static const auto* const kBehindGpuJobs =
      new std::string("Waits behind earlier jobs that need GPUs.");
  static const auto* const kBehindCpuJobs =
      new std::string("Waits behind earlier jobs that need no GPU.");
  if (queue.empty()) return false;
  const int nodes = static_cast<int>(ledger->offers().size());
  bool gpu_line_waits = false;
  bool cpu_line_waits = false;
  // The decisions about jobs that were not placed, by shape. Nodes only fill up during a pass. A
  // shape that did not fit once therefore does not fit later in the same pass.
  absl::flat_hash_map<std::pair<absl::string_view, v1::Devices>, PlacementDecision> refused;
  for (const JobEntry* entry : queue) {
    const v1::Job& job = entry->job;
    const v1::Devices devices = DevicesOf(job, state);
    const bool gpu = devices == v1::ON_GPUS;
    bool& line_waits = gpu ? gpu_line_waits : cpu_line_waits;
    // A pointer, because each pass looks at all waiting jobs, and copying thousands of texts
    // would be slow.
    const std::string* reason = gpu ? kBehindGpuJobs : kBehindCpuJobs;
    if (!line_waits) {
      const std::pair<absl::string_view, v1::Devices> shape(entry->shape, devices);
      auto known = refused.find(shape);
      if (known == refused.end()) {
        PlacementDecision decision = Place(job.spec(), devices, AvoidedBy(*entry), *ledger);
        if (decision.assignment.has_value()) {
          ledger->Take(decision.assignment->placements);
          actions->push_back(
              Start(common::JobId(job.job_id()), devices, *std::move(decision.assignment)));
          continue;
        }
        known = refused.emplace(shape, std::move(decision)).first;
      }
      const PlacementDecision::Wait wait = known->second.wait;
      line_waits = wait == PlacementDecision::Wait::kJobs;
      reason = &known->second.reason;
      if (wait == PlacementDecision::Wait::kNodes && state.limits.fixed_nodes > 0 &&
          nodes >= state.limits.fixed_nodes) {
        actions->push_back(Refuse(common::JobId(job.job_id()), *reason));
        continue;
      }
    }
    if (!job.has_cause() && *reason == job.reason()) continue;
    std::string text = WithLastFailure(job, *reason);
    if (text != job.reason()) {
      actions->push_back(Explain{common::JobId(job.job_id()), std::move(text)});
    }
  }
  return gpu_line_waits || cpu_line_waits;
}

}  // namespace accel::coordinator
