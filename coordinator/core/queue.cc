#include "coordinator/core/queue.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/exit_text.h"
#include "coordinator/core/exit_status.h"
#include "coordinator/core/placement.h"
#include "coordinator/core/wording.h"

namespace accel::coordinator {
namespace {

Action Start(const common::JobId& id, v1::Devices devices, Assignment assignment) {
  StartGeneration start;
  start.job = id;
  start.devices = devices;
  start.reason = absl::StrCat("Starting ", DescribeWorld(assignment.placements), "; waiting for ",
                              NameNodes(assignment.placements), ".");
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

// A group of a line during a pass.
struct Turn {
  const std::string& shape;
  const WaitingGroup& group;
  WaitingLine::Jobs::const_iterator next;  // The first job that the pass has not placed.
  // Why that job, and so the rest of the group, was not placed. Nodes only fill up during a pass,
  // so what did not fit once does not fit later in the same pass.
  std::optional<PlacementDecision> refusal;
};

// A line during a pass.
struct Line {
  Line(const WaitingLine& line, v1::Devices on, std::string behind_others)
      : devices(on), behind(std::move(behind_others)) {
    turns.reserve(line.groups().size());
    for (const auto& [shape, group] : line.groups()) {
      turns.push_back({shape, group, group.all.begin(), std::nullopt});
      Enter(&turns.back());
    }
  }

  // Puts the next job of a group, if there is one, among those that the pass must look at.
  void Enter(Turn* turn) {
    if (turn->next != turn->group.all.end()) heads.emplace(turn->next->first.value(), turn);
  }

  bool done() const { return blocked_by.has_value() || heads.empty(); }

  const v1::Devices devices;
  const std::string behind;  // The reason of jobs behind one that waits for others to end.
  std::vector<GroupNews> news;
  std::vector<Turn> turns;
  std::map<absl::string_view, Turn*> heads;  // By the id of their next job.
  std::optional<common::JobId> blocked_by;   // The job that waits for others to end.
};

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
    while (Line* line = LineOfOldest()) PlanOldest(line);
    for (Line* line : {&gpu_line_, &cpu_line_}) {
      for (const Turn& turn : line->turns) Tell(turn, line);
    }
    return {.gpu_news = std::move(gpu_line_.news),
            .cpu_news = std::move(cpu_line_.news),
            .blocked = gpu_line_.blocked_by.has_value() || cpu_line_.blocked_by.has_value()};
  }

 private:
  // Returns the line whose next job is the oldest, or null if both lines are done.
  Line* LineOfOldest() {
    if (gpu_line_.done() && cpu_line_.done()) return nullptr;
    if (cpu_line_.done()) return &gpu_line_;
    if (gpu_line_.done()) return &cpu_line_;
    return gpu_line_.heads.begin()->first < cpu_line_.heads.begin()->first ? &gpu_line_
                                                                           : &cpu_line_;
  }

  void PlanOldest(Line* line) {
    const auto head = line->heads.begin();
    Turn& turn = *head->second;
    line->heads.erase(head);
    const auto& [id, entry] = *turn.next;
    if (stepping_.contains(id) || PlanJob(id, *entry, line->devices, &turn)) {
      ++turn.next;
      line->Enter(&turn);
    } else if (turn.refusal->wait == PlacementDecision::Wait::kJobs) {
      line->blocked_by = id;
    }
  }

  // Returns true if the pass places the job, or ends it. Otherwise turn->refusal has the reason.
  bool PlanJob(const common::JobId& id, const JobEntry& entry, v1::Devices devices, Turn* turn) {
    if (!turn->refusal.has_value()) {
      PlacementDecision decision =
          Place(entry.job.spec(), devices, AvoidedBy(entry), CurrentGeneration(entry.job), ledger_);
      if (decision.assignment.has_value()) {
        ledger_.Take(decision.assignment->placements);
        actions_.push_back(Start(id, devices, *std::move(decision.assignment)));
        return true;
      }
      turn->refusal = std::move(decision);
    }
    if (turn->refusal->wait != PlacementDecision::Wait::kNodes || !IsComplete()) return false;
    actions_.push_back(Refuse(id, turn->refusal->reason));
    return true;
  }

  // Returns true if no further nodes will connect.
  bool IsComplete() const {
    return state_.limits.fixed_nodes > 0 &&
           static_cast<int>(ledger_.offers().size()) >= state_.limits.fixed_nodes;
  }

  // Gives their reasons to the jobs of a group that remain. Up to the job that blocks the line, it
  // is the answer. The others wait behind that job.
  void Tell(const Turn& turn, Line* line) {
    const WaitingGroup& group = turn.group;
    if (turn.next == group.all.end()) return;
    GroupNews news;
    const common::JobId& first = turn.next->first;
    // Returns the first of the jobs that wait behind the job that blocks the line.
    const auto first_behind = [line, &first](const WaitingLine::Jobs& jobs) {
      if (!line->blocked_by.has_value()) return jobs.end();
      return *line->blocked_by < first ? jobs.lower_bound(first)
                                       : jobs.upper_bound(*line->blocked_by);
    };
    const auto answer = [&](const WaitingLine::Jobs& jobs, std::vector<common::JobId>* told) {
      Say(jobs.lower_bound(first), first_behind(jobs), turn.refusal->reason, told);
    };
    const auto defer = [&](const WaitingLine::Jobs& jobs) {
      Say(first_behind(jobs), jobs.end(), line->behind, &news.behind);
    };
    if (turn.refusal.has_value() && turn.refusal->reason != group.answer) {
      news.answer = turn.refusal->reason;
      answer(group.answered, nullptr);
    }
    if (turn.refusal.has_value()) {
      answer(group.behind, &news.answered);
      answer(group.others, &news.answered);
    }
    defer(group.answered);
    defer(group.others);
    if (news.answer.has_value() || !news.answered.empty() || !news.behind.empty()) {
      news.shape = turn.shape;
      line->news.push_back(std::move(news));
    }
  }

  // Gives this reason to the jobs from `job` to `end`, and adds them to *told unless it is null.
  void Say(WaitingLine::Jobs::const_iterator job, WaitingLine::Jobs::const_iterator end,
           const std::string& reason, std::vector<common::JobId>* told) {
    for (; job != end; ++job) {
      const auto& [id, entry] = *job;
      if (stepping_.contains(id)) continue;  // Its own step takes it out of the line.
      if (told != nullptr) told->push_back(id);
      const std::string text = WithLastFailure(entry->job, reason);
      if (text != entry->job.reason()) actions_.push_back(Explain{id, text});
    }
  }

  const ClusterState& state_;
  const std::set<common::JobId>& stepping_;
  Ledger& ledger_;
  std::vector<Action>& actions_;
  Line gpu_line_;
  Line cpu_line_;
};

}  // namespace

QueuePass PlanQueue(const ClusterState& state, const WaitingJobs& waiting,
                    const std::set<common::JobId>& stepping, Ledger* ledger,
                    std::vector<Action>* actions) {
  if (waiting.gpu_line.groups().empty() && waiting.cpu_line.groups().empty()) return {};
  return Pass(state, waiting, stepping, ledger, actions).Run();
}

}  // namespace accel::coordinator
