// The problem: while a generation runs, several things can become true between two looks at it.
// Rank 3 exits with 1, its node goes silent, a client cancels the job, and the time limit runs out.
// The job has one outcome, which must not depend on the message that was read first.
//
// The approach: there are no event handlers. Each look collects what is known of all parts (part.h)
// and tests conditions in a fixed order. The first condition that holds decides. The order
// is the policy:
//
// clang-format off
//    1. every part has started (only while STARTING)   RUNNING
//    2. every rank has exited with 0                   succeed
//    3. a spare store socket had vanished              plan again, or fail after max_replans times
//    4. a part has failed or is lost                   restart, or fail if the budget is spent
//    5. a client has cancelled the job                 cancel
//    6. the time limit is over                         fail
//    7. an operator moves the jobs of one of its nodes restart, which spends nothing
//    8. the start deadline is over (STARTING)          restart, or fail if the budget is spent
// clang-format on
//
// * Success (2) comes before all other ends of a job. A job whose work is done must not be reported
//   as cancelled or out of time.
// * A vanished socket (3) is no failure of the job. It comes before a failure (4), because the part
//   that could not start for that reason would otherwise count as failed.
// * A failure (4) comes before a cancel (5), so that the cause is recorded. The cancel then applies
//   to the stop, as described below.
// * A failure (4) comes before the start deadline (8), because it explains why ranks did not start.
//
// All outcomes except RUNNING lead through STOPPING, even success. STOPPING ends only when each
// node of the generation either has no process of it left or is lost. Only then are ranks and GPUs
// free (invariant 4). While STOPPING, the outcome is in Job.next, and two things change it:
//
// * A cancel changes restart to cancel, because a user who cancels a failing job does not
//   want another attempt.
// * An earlier failure that is reported later replaces the cause. The policy then judges this
//   failure instead (first_failure.h). The budget is therefore spent only at the end of the stop.
//
// A plan takes at most one step for each job. The caller performs the step and looks again, unless
// nothing can follow yet (perform.cc). An example: a job without restarts is cancelled just after
// its rank 1 has exited with code 3.
//
// clang-format off
//   look 1   RUNNING    4 holds: stop, next = fail, cause = rank 1, code 3
//   look 2   STOPPING   a cancel is pending: next remains fail, the grace may become shorter
//   look 3   STOPPING   node b still has processes: the reason in `accel status` says so
//   look 4   STOPPING   no process is left: the failure is counted against its budget
//   look 5   STOPPING   FAILED with exit code 3
// clang-format on
#include "coordinator/core/step.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/exit_text.h"
#include "coordinator/core/counting.h"
#include "coordinator/core/failure_policy.h"
#include "coordinator/core/first_failure.h"
#include "coordinator/core/generation_end.h"
#include "coordinator/core/grace.h"
#include "coordinator/core/part.h"
#include "coordinator/core/silence.h"
#include "coordinator/core/timed_out.h"
#include "coordinator/core/unplaced_step.h"
#include "coordinator/core/wording.h"

namespace accel::coordinator {
namespace {

// Returns the names of the nodes whose parts fulfil the condition. Stops at kMaxNames + 1 names,
// because a text with more than kMaxNames nodes names none of them.
std::vector<std::string> NodesWhere(const std::vector<Part>& parts, bool (*holds)(const Part&)) {
  std::vector<std::string> names;
  for (const Part& part : parts) {
    if (static_cast<int>(names.size()) > kMaxNames) break;
    if (holds(part)) names.push_back(part.placement->node_name());
  }
  return names;
}

bool NotStarted(const Part& part) { return !IsStarted(part); }
bool EndedWell(const Part& part) { return part.ended_well; }

MarkRunning Started(const v1::Job& job) {
  return {common::JobId(job.job_id()),
          absl::StrCat(DescribeWorld(CurrentGeneration(job)->placements()), ".")};
}

// One look at a job that holds nodes: the parts of its generation, and the step that follows.
class JobView {
 public:
  JobView(const ClusterState& state, const JobEntry& entry, absl::Time now)
      : state_(state),
        entry_(entry),
        job_(entry.job),
        id_(entry.job.job_id()),
        now_(now),
        parts_(LookAtParts(state, entry, now)) {}

  std::optional<Action> NextStep() {
    if (job_.phase() == v1::STOPPING) return Stopping();
    const bool starting = job_.phase() == v1::STARTING;
    if (starting && All(IsStarted)) return Started(job_);
    if (All(EndedWell)) return Stop(v1::TO_SUCCEEDED, FailureGrace(state_.limits, job_.spec()));
    if (std::any_of(parts_.begin(), parts_.end(), IsSocketGone)) return Replan();
    if (auto failure = FirstFailure(entry_, parts_, now_)) return Failed(*std::move(failure));
    if (entry_.cancel) {
      return Stop(v1::TO_CANCELLED, entry_.cancel_at_once ? absl::ZeroDuration()
                                                          : StopGrace(state_.limits, job_.spec()));
    }
    if (now_ >= entry_.end_by) {
      return Fail(TimeLimitPassed(job_), v1::TO_FAILED, StopGrace(state_.limits, job_.spec()));
    }
    if (const auto leaving = NodesToLeave(); !leaving.empty()) return Move(leaving);
    return starting ? Starting() : Running();
  }

  // Returns the time at which a step may follow without an event. This is the start deadline, the
  // time limit, the time for another reason, or the time from which a node that still has processes
  // counts as silent or lost. NextStep() must have returned nullopt.
  absl::Time WakeAt() const {
    absl::Time wake_at = explain_at_;
    if (!parts_.front().silent) wake_at = std::min(wake_at, entry_.start_by);
    if (job_.phase() != v1::STOPPING) wake_at = std::min(wake_at, entry_.end_by);
    for (const Part& part : parts_) {
      if (HasProcesses(part)) wake_at = std::min(wake_at, NextSilence(part));
    }
    return wake_at;
  }

  PartCounts Counts() const { return CountParts(entry_, parts_, now_); }

 private:
  bool All(bool (*holds)(const Part&)) const {
    return std::all_of(parts_.begin(), parts_.end(), holds);
  }
  absl::Time NextSilence(const Part& part) const {
    if (part.node == nullptr) return SilentFrom(state_);
    return part.silent ? LostFrom(state_, entry_, *part.node) : SilentFrom(state_, *part.node);
  }
  // Returns the sentences about the silent node that the job waits for, or an empty string.
  std::string Silence() const {
    const Part& part = parts_.front();  // Only a job of one node waits for a silent one.
    return part.silent ? DescribeWait(state_, entry_, *part.node) : "";
  }
  std::string WaitingToEnd(absl::string_view why) const {
    const std::vector<std::string> waiting = NodesWhere(parts_, HasProcesses);
    if (waiting.empty()) return absl::StrCat(why, ".");
    return absl::StrCat(why, "; waiting for ", NameNodes(waiting), " to end its processes.",
                        Silence());
  }

  StopGeneration Stop(v1::AfterStop next, absl::Duration grace) const {
    StopGeneration stop;
    stop.job = id_;
    stop.next = next;
    stop.grace = grace;
    stop.reason = WaitingToEnd(WhyStopping(job_, next));
    return stop;
  }

  StopGeneration Fail(v1::FailureCause cause, v1::AfterStop next, absl::Duration grace) const {
    StopGeneration stop = Stop(next, grace);
    stop.reason = WaitingToEnd(DescribeFailureFirst(cause));
    stop.cause = std::move(cause);
    stop.failed = {now_, now_};
    stop.spends = Spends::kRestart;
    return stop;
  }

  // Returns what follows the failure, and writes the note of that verdict into its cause.
  FailureVerdict Judge(FoundFailure* failure) const {
    const std::string& name = failure->cause.node_name();
    const bool could_not_start =
        std::any_of(parts_.begin(), parts_.end(), [&name](const Part& part) {
          return NodeCouldNotStart(part) && part.placement->node_name() == name;
        });
    FailureVerdict verdict =
        JudgeFailure(state_.limits, entry_, failure->cause, failure->when, could_not_start, now_);
    if (!verdict.note.empty()) failure->cause.set_note(verdict.note);
    return verdict;
  }

  StopGeneration Failed(FoundFailure failure) const {
    const FailureVerdict verdict = Judge(&failure);
    const absl::Duration grace = GraceAfter(failure.cause);
    StopGeneration stop = Fail(std::move(failure.cause), verdict.next, grace);
    stop.failed = failure.when;
    stop.spends = verdict.spends;
    for (const Part& part : parts_) {
      if (NodeCouldNotStart(part)) stop.could_not_start.emplace_back(part.placement->node_id());
    }
    return stop;
  }

  // Replaces the cause by an earlier failure. A cancel that has arrived since the stop was decided
  // still holds, regardless of the new cause.
  ReplaceCause Replace(FoundFailure failure) const {
    const FailureVerdict verdict = Judge(&failure);
    ReplaceCause replace;
    replace.job = id_;
    replace.failed = failure.when;
    replace.next = entry_.cancelled_since ? job_.next() : verdict.next;
    replace.spends = verdict.spends;
    replace.grace = GraceAfter(failure.cause);
    replace.reason =
        WaitingToEnd(replace.next == v1::TO_CANCELLED ? WhyStopping(job_, replace.next)
                                                      : DescribeFailureFirst(failure.cause));
    replace.cause = std::move(failure.cause);
    return replace;
  }

  // Returns the grace for the other ranks after a failure. It is zero if a node was lost or a rank
  // hangs, unless the spec sets a failure grace. The remaining ranks hang in their collectives,
  // where no SIGTERM reaches the program, so a grace would only delay the next generation. If the
  // only node has said goodbye, its ranks work, and can save their state.
  absl::Duration GraceAfter(const v1::FailureCause& cause) const {
    const absl::Duration grace = FailureGrace(state_.limits, job_.spec());
    if (job_.spec().failure_grace_ms() > 0) return grace;
    if (cause.exit().kind() == v1::ExitRecord::HUNG) return absl::ZeroDuration();
    if (!common::IsOfNode(cause.exit())) return grace;
    if (parts_.size() > 1) return absl::ZeroDuration();
    return cause.exit().kind() == v1::ExitRecord::PREEMPTED ? StopGrace(state_.limits, job_.spec())
                                                            : grace;
  }

  StopGeneration Replan() const {
    if (job_.replans() >= state_.limits.max_replans) {
      v1::FailureCause cause =
          TimedOut(job_, absl::StrCat("its start was planned ", job_.replans() + 1,
                                      " times and met a vanished store socket each time"));
      cause.mutable_exit()->set_kind(v1::ExitRecord::NOT_STARTED);
      return Fail(std::move(cause), v1::TO_FAILED, FailureGrace(state_.limits, job_.spec()));
    }
    StopGeneration stop = Stop(v1::TO_RESTARTING, FailureGrace(state_.limits, job_.spec()));
    stop.why = "The spare store socket of the plan is gone";
    stop.reason = WaitingToEnd(stop.why);
    stop.spends = Spends::kReplan;
    return stop;
  }

  // Returns the nodes whose jobs an operator moves, as many as NodesWhere() returns.
  std::vector<std::string> NodesToLeave() const {
    return NodesWhere(parts_, [](const Part& part) {
      return part.node != nullptr && part.node->drain == v1::MOVE_JOBS;
    });
  }

  StopGeneration Move(const std::vector<std::string>& nodes) const {
    StopGeneration stop = Stop(v1::TO_RESTARTING, StopGrace(state_.limits, job_.spec()));
    stop.why = absl::StrCat("An operator moves the jobs of ", NameNodes(nodes));
    stop.reason = WaitingToEnd(stop.why);
    return stop;
  }

  std::optional<Action> Starting() {
    const std::vector<std::string> waiting = NodesWhere(parts_, NotStarted);
    // A job that waits for its silent node cannot know whether its ranks have started.
    if (now_ >= entry_.start_by && !parts_.front().silent) {
      return Failed({TimedOut(job_, absl::StrCat("not every rank was started within the deadline; ",
                                                 NameNodes(waiting), " did not report its start")),
                     {now_, now_}});
    }
    return Say(absl::StrCat("Starting ", DescribeWorld(CurrentGeneration(job_)->placements()),
                            "; waiting for ", NameNodes(waiting), ".", Silence()));
  }

  // The reason of a RUNNING job changes only if its node becomes silent or reports again.
  std::optional<Action> Running() {
    if (parts_.size() > 1) return std::nullopt;
    return Say(absl::StrCat(Started(job_).reason, Silence()));
  }

  std::optional<Action> Stopping() {
    if (entry_.cancel) {
      const bool instead = job_.next() == v1::TO_RESTARTING;
      const v1::AfterStop next = instead ? v1::TO_CANCELLED : job_.next();
      return ChangeStop{id_, next, entry_.cancel_at_once ? absl::ZeroDuration() : entry_.stop_grace,
                        WaitingToEnd(WhyStopping(job_, next))};
    }
    if (job_.has_cause()) {
      if (auto earlier = EarlierFailure(entry_, parts_, now_)) return Replace(*std::move(earlier));
    }
    if (std::any_of(parts_.begin(), parts_.end(), HasProcesses)) {
      return Say(WaitingToEnd(WhyStopping(job_, job_.next())));
    }
    if (entry_.spends != Spends::kNothing) {
      return SpendBudget{id_, absl::StrCat(WhyStopping(job_, job_.next()), ".")};
    }
    return EndOfGeneration(state_.limits, entry_, parts_);
  }

  // Changes the reason. Before explain_at, only remembers that it must be changed then.
  std::optional<Action> Say(std::string reason) {
    if (reason == job_.reason()) return std::nullopt;
    if (now_ < entry_.explain_at) {
      explain_at_ = entry_.explain_at;
      return std::nullopt;
    }
    return Explain{id_, std::move(reason)};
  }

  const ClusterState& state_;
  const JobEntry& entry_;
  const v1::Job& job_;
  const common::JobId id_;
  const absl::Time now_;
  const std::vector<Part> parts_;
  absl::Time explain_at_ = absl::InfiniteFuture();  // The time for a reason that must wait.
};

}  // namespace

Look LookAtJob(const ClusterState& state, const JobEntry& job, absl::Time now) {
  Look look;
  if (job.job.phase() == v1::PENDING || job.job.phase() == v1::RESTARTING) {
    look.step = UnplacedStep(job, now, &look.wake_at);
    return look;
  }
  // The counts say it without a look at each part.
  const PartCounts& counts = job.counts;
  if (job.job.phase() == v1::STARTING && counts.known() && counts.started() == counts.parts()) {
    look.step = Started(job.job);
    return look;
  }
  JobView view(state, job, now);
  look.step = view.NextStep();
  if (look.step.has_value()) return look;
  look.wake_at = view.WakeAt();
  look.counts = view.Counts();
  return look;
}

}  // namespace accel::coordinator
