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

// One pass over both lines.
class Pass {
 public:
  Pass(const ClusterState& state, const WaitingJobs& waiting,
       const std::set<common::JobId>& stepping, Ledger* ledger, std::vector<Action>* actions)
      : state_(state),
        stepping_(stepping),
        ledger_(*ledger),
        actions_(*actions),
        gpu_line_(waiting.gpu_line, v1::ON_GPUS, "Waits behind earlier jobs that need GPUs."),
        cpu_line_(waiting.cpu_line, v1::ON_CPUS, "Waits behind earlier jobs that need no GPU.") {}

  QueuePass Run() && {
    while (Line* line = LineOfOldest()) {
      const auto& [id, entry] = *line->next++;
      if (!stepping_.contains(id)) line->waits = PlanJob(id, *entry, *line);
    }
    for (const Line* line : {&gpu_line_, &cpu_line_}) {
      if (!line->waits) continue;
      pass_.blocked = true;
      if (line->next == line->all.end()) continue;
      for (auto job = line->others.lower_bound(line->next->first); job != line->others.end();
           ++job) {
        if (stepping_.contains(job->first)) continue;
        Say(job->second->job, line->behind);
        pass_.behind.push_back(job->first);
      }
    }
    return std::move(pass_);
  }

 private:
  struct Line {
    Line(const WaitingLine& line, v1::Devices on, std::string behind_others)
        : all(line.all()),
          others(line.others()),
          devices(on),
          behind(std::move(behind_others)),
          next(all.begin()) {}

    const WaitingLine::Jobs& all;
    const WaitingLine::Jobs& others;
    const v1::Devices devices;
    const std::string behind;  // The reason of jobs behind one that waits for others to end.
    WaitingLine::Jobs::const_iterator next;
    bool waits = false;  // A job of the line waits for others to end.
  };

  // Returns the line whose next job is the oldest, or null if both lines wait or are empty.
  Line* LineOfOldest() {
    Line* oldest = nullptr;
    for (Line* line : {&gpu_line_, &cpu_line_}) {
      if (line->waits || line->next == line->all.end()) continue;
      if (oldest == nullptr || line->next->first < oldest->next->first) oldest = line;
    }
    return oldest;
  }

  // Returns true if the job waits for others to end.
  bool PlanJob(const common::JobId& id, const JobEntry& entry, const Line& line) {
    const v1::Job& job = entry.job;
    const std::pair<absl::string_view, v1::Devices> shape(entry.shape, line.devices);
    auto known = refused_.find(shape);
    if (known == refused_.end()) {
      PlacementDecision decision = Place(job.spec(), line.devices, AvoidedBy(entry), ledger_);
      if (decision.assignment.has_value()) {
        ledger_.Take(decision.assignment->placements);
        actions_.push_back(Start(id, line.devices, *std::move(decision.assignment)));
        return false;
      }
      known = refused_.emplace(shape, std::move(decision)).first;
    }
    const PlacementDecision& decision = known->second;
    if (decision.wait == PlacementDecision::Wait::kNodes && IsComplete()) {
      actions_.push_back(Refuse(id, decision.reason));
      return false;
    }
    Say(job, decision.reason);
    if (!line.others.contains(id)) pass_.in_front.push_back(id);
    return decision.wait == PlacementDecision::Wait::kJobs;
  }

  // Returns true if no further nodes will connect.
  bool IsComplete() const {
    return state_.limits.fixed_nodes > 0 &&
           static_cast<int>(ledger_.offers().size()) >= state_.limits.fixed_nodes;
  }

  void Say(const v1::Job& job, const std::string& reason) {
    if (!job.has_cause() && reason == job.reason()) return;
    std::string text = WithLastFailure(job, reason);
    if (text == job.reason()) return;
    actions_.push_back(Explain{common::JobId(job.job_id()), std::move(text)});
  }

  const ClusterState& state_;
  const std::set<common::JobId>& stepping_;
  Ledger& ledger_;
  std::vector<Action>& actions_;
  Line gpu_line_;
  Line cpu_line_;
  // The decisions about jobs that were not placed, by shape. Nodes only fill up during a pass. A
  // shape that did not fit once therefore does not fit later in the same pass.
  absl::flat_hash_map<std::pair<absl::string_view, v1::Devices>, PlacementDecision> refused_;
  QueuePass pass_;
};

}  // namespace

QueuePass PlanQueue(const ClusterState& state, const WaitingJobs& waiting,
                    const std::set<common::JobId>& stepping, Ledger* ledger,
                    std::vector<Action>* actions) {
  if (waiting.gpu_line.all().empty() && waiting.cpu_line.all().empty()) return {};
  return Pass(state, waiting, stepping, ledger, actions).Run();
}

}  // namespace accel::coordinator
