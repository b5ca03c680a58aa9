#include "shim/generation_groups.h"

#include <signal.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace accel::shim {
namespace {

// Always the same unit, so that the texts of one failure that is repeated remain alike.
std::string InMebibytes(int64_t bytes) {
  const int64_t tenths = bytes / 1024 * 10 / 1024;
  return absl::StrCat(tenths / 10, ".", tenths % 10, " MiB");
}

void Append(absl::string_view fact, ExitFact* exit) {
  if (fact.empty()) return;
  const std::string before(absl::StripSuffix(exit->message, "."));
  exit->message = absl::StrCat(before, before.empty() ? "" : "; ", fact);
}

}  // namespace

void GenerationGroups::Make(const StartCommand& start) {
  unified_ = process::Cgroup::Make(start.cgroup);
  memory_ = process::Cgroup::Make(start.memory_cgroup);
  pids_ = process::Cgroup::Make(start.pids_cgroup);
  max_processes_ = start.max_processes;
  unified_.LimitProcesses(max_processes_);
  pids_.LimitProcesses(max_processes_);
  out_of_memory_seen_ = unified_.OomKills() + memory_.OomKills();
  for (const process::Cgroup* group : {&memory_, &pids_}) {
    common::UniqueFd tasks = group->OpenTasks();
    if (!tasks.valid()) continue;
    entered_.push_back(tasks.get());
    tasks_.push_back(std::move(tasks));
  }
}

bool GenerationGroups::TakeOutOfMemory(const ExitFact& exit) {
  // The kernel does not say which process it has killed, so each kill that it has counted explains
  // one SIGKILL.
  if (exit.kind != ExitFact::Kind::kSignalled || exit.signal != SIGKILL) return false;
  if (unified_.OomKills() + memory_.OomKills() <= out_of_memory_seen_) return false;
  ++out_of_memory_seen_;
  return true;
}

void GenerationGroups::Explain(ExitFact* exit) {
  if (exit->ok()) return;
  if (TakeOutOfMemory(*exit)) {
    exit->out_of_memory = true;
    Append(MemoryUse(), exit);
  }
  if (unified_.RefusedForks() + pids_.RefusedForks() > 0) {
    Append(absl::StrCat("its job reached the limit of ", max_processes_,
                        " processes and threads on this node (accel-agent --max_processes)"),
           exit);
  }
}

std::string GenerationGroups::MemoryUse() const {
  // The group that counts. Both together exist only without a memory controller in v2.
  const process::Cgroup& group = memory_.fd() < 0 ? unified_ : memory_;
  const auto peak = group.MemoryPeak();
  if (!peak) return "";
  const auto limit = group.MemoryLimit();
  return absl::StrCat("the memory of its job on this node had a peak of ", InMebibytes(*peak),
                      limit ? absl::StrCat(", the limit is ", InMebibytes(*limit)) : "");
}

bool GenerationGroups::Remove() {
  entered_.clear();
  tasks_.clear();
  const bool unified_is_gone = unified_.Remove();
  const bool memory_is_gone = memory_.Remove();
  return pids_.Remove() && memory_is_gone && unified_is_gone;
}

}  // namespace accel::shim
