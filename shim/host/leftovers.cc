// How a host ends the processes that a dead shim has left, and what it then reports. The rest of
// the class is in posix_shim_host.cc.

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "logs/log_paths.h"
#include "process/cgroup.h"
#include "process/marked_sweep.h"
#include "process/sweep.h"
#include "shim/host/posix_shim_host.h"
#include "shim/host/timer.h"
#include "shim/host/user_report.h"

namespace accel::shim {
namespace {

using Phase = HostedShim::Phase;

constexpr absl::Duration kFirstSweepPause = absl::Milliseconds(1);
constexpr absl::Duration kLongestSweepPause = absl::Milliseconds(100);

// Returns how a shim ended, as a sentence.
std::string Ending(int wait_status, bool unresponsive) {
  if (unresponsive) return "accel-shim did not respond and was killed.";
  if (WIFSIGNALED(wait_status)) {
    return absl::StrCat("accel-shim was killed by signal ", WTERMSIG(wait_status), ".");
  }
  return absl::StrCat("accel-shim exited with code ", WEXITSTATUS(wait_status), ".");
}

// Returns the end of a generation whose shim has died without a result, and of its workers.
ExitFact EndWith(const HostedShim& shim) {
  ExitFact fact;
  if (shim.mismatch.empty()) {
    fact.kind = ExitFact::Kind::kShimDied;
    fact.message = shim.end;
    return fact;
  }
  fact.kind = ExitFact::Kind::kNotStarted;
  fact.code = 1;
  fact.message = absl::StrCat(
      "accel was upgraded on this node, and its agent still runs with the version before; start "
      "the agent again. ",
      shim.mismatch);
  return fact;
}

}  // namespace

bool PosixShimHost::IsRunningShim(pid_t pid) const {
  return std::any_of(shims_.begin(), shims_.end(), [pid](const auto& entry) {
    return entry.second->record.pid == pid && entry.second->phase == Phase::kRunning;
  });
}

void PosixShimHost::OnExit(HostedShim* shim) {
  if (shim->phase != Phase::kRunning) return;
  int status = 0;
  if (shim->is_child) {
    const int wait = shim->pidfd.valid() ? WNOHANG : 0;
    if (waitpid(shim->record.pid, &status, wait) <= 0) return;
    shim->end = Ending(status, shim->unresponsive);
  } else {
    if (!shim->IsGone()) return;
    shim->end = shim->unresponsive ? Ending(0, true) : "accel-shim has ended.";
  }
  shim->phase = Phase::kLeftovers;
  shim->awaits_hello = shim->awaits_report = false;
  if (shim->pidfd.valid()) loop_.Unwatch(shim->pidfd.get());
  OnChannel(shim);  // Takes the shim's last reports.
  CloseChannel(shim);
  sweep_pause_ = absl::ZeroDuration();
  SweepLeftovers();
}

void PosixShimHost::SweepLeftovers() {
  ClearTimer(sweep_timer_);
  bool any_left = false;
  for (auto& [job, shim] : shims_) {
    if (shim->phase != Phase::kLeftovers) continue;
    const bool none_left = EndLeftovers(shim.get());
    if (none_left) Finish(shim.get());
    any_left |= !none_left;
  }
  if (!any_left) return;
  sweep_pause_ = std::clamp(sweep_pause_, kFirstSweepPause, kLongestSweepPause);
  ArmTimer(sweep_timer_, sweep_pause_);
  sweep_pause_ *= 2;
}

bool PosixShimHost::RemoveJobCgroups(const HostedShim& shim) {
  bool all_removed = true;
  for (const std::string& path :
       {shim.record.job_cgroup, shim.record.job_memory_cgroup, shim.record.job_pids_cgroup}) {
    if (path.empty() || access(path.c_str(), F_OK) != 0) continue;
    process::Cgroup group = process::Cgroup::Make(path);
    group.Kill();
    all_removed &= group.Remove();
  }
  return all_removed;
}

bool PosixShimHost::EndLeftovers(HostedShim* shim) {
  // A shim that reported the end of its generation has left no process. This report is not believed
  // if the shim is another user's.
  if (!shim->has_live_generation() && shim->record.uid == 0) return true;
  process::Cgroup cgroup = process::Cgroup::Make(shim->record.cgroup);
  process::Cgroup memory_cgroup = process::Cgroup::Make(shim->record.memory_cgroup);
  process::Cgroup pids_cgroup = process::Cgroup::Make(shim->record.pids_cgroup);
  for (process::Cgroup* group : {&cgroup, &memory_cgroup, &pids_cgroup}) group->Kill();
  // If the shim was a child of this process, its orphans have become this process's children.
  // Orphans of other shims are found by the path of their error file, which contains log_dir.
  // The report has log_dir even if the record is only an intent. The report of another user's
  // shim is not believed.
  const bool believes_report = shim->record.uid == 0 && shim->newest.has_value();
  const std::string& log_dir = believes_report ? shim->newest->log_dir : shim->record.log_dir;
  const std::string mark = absl::StrCat(logs::kErrorFileVariable, "=", log_dir, "/");
  const bool none_left = shim->is_child
                             ? process::EndOrphans([this](pid_t pid) { return IsRunningShim(pid); })
                             : log_dir.empty() || process::KillMarked(mark) == 0;
  return none_left && cgroup.Remove() && memory_cgroup.Remove() && pids_cgroup.Remove() &&
         RemoveJobCgroups(*shim);
}

void PosixShimHost::Finish(HostedShim* shim) {
  shim->phase = Phase::kGone;
  shim->changed = true;
  if (shim->has_live_generation()) {
    std::optional<GenerationReport> result =
        shim->folder ? shim->folder->ReadResult() : std::nullopt;
    // If the shim never received the start, the generation never existed: an agent was killed
    // before it could send the start.
    if (result && shim->record.uid != 0) result = Believed(*result, shim->record);
    const bool was_lost =
        !shim->taken_over && shim->folder->ReadStarted() < shim->newest->id.generation;
    if (was_lost || (result && result->id == shim->newest->id)) shim->newest = std::move(result);
  }
  if (shim->has_live_generation()) {
    shim->newest->state = GenerationReport::State::kEnded;
    const ExitFact end = EndWith(*shim);
    if (!shim->newest->failure) shim->newest->failure = end;
    for (WorkerReport& worker : shim->newest->workers) {
      if (!worker.exit) worker.exit = end;
    }
  }
  if (!shim->folder) return;
  // A later agent must find the result until the coordinator has stored it.
  const bool is_needed = shim->newest && !shim->end_sent && !shim->forgotten;
  is_needed ? shim->folder->WriteResult(*shim->newest) : shim->folder->Remove();
}

}  // namespace accel::shim
