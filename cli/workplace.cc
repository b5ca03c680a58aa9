#include "cli/workplace.h"

#include <signal.h>
#include <sys/signalfd.h>

#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/find_shim.h"
#include "common/descriptors.h"
#include "common/status_macros.h"
#include "logs/log_paths.h"

namespace accel::cli {
namespace {

// Blocks SIGINT, SIGTERM and SIGHUP in this thread and all later ones, and returns a descriptor
// that is readable when one arrives. SIGHUP is left alone if it is ignored (nohup).
common::UniqueFd StopSignals() {
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGINT);
  sigaddset(&stop, SIGTERM);
  struct sigaction hup;
  if (sigaction(SIGHUP, nullptr, &hup) == 0 && hup.sa_handler != SIG_IGN) sigaddset(&stop, SIGHUP);
  sigprocmask(SIG_BLOCK, &stop, nullptr);
  signal(SIGPIPE, SIG_IGN);
  // Slurm sends these to all processes of a step, workers included (srun --signal=USR1@60).
  signal(SIGUSR1, SIG_IGN);
  signal(SIGUSR2, SIG_IGN);
  return common::UniqueFd(signalfd(-1, &stop, SFD_CLOEXEC | SFD_NONBLOCK));
}

std::string TemporaryFolder() {
  const char* tmp = std::getenv("TMPDIR");
  return tmp == nullptr || *tmp == '\0' ? "/tmp" : tmp;
}

// Folder in memory for the output that the temporary folder refuses (docs/decisions/0028).
constexpr char kMemoryFolder[] = "/dev/shm";

// Makes the folder of this launch, in memory if the temporary folder is full.
absl::StatusOr<std::unique_ptr<LaunchDir>> MakeLaunchDir() {
  auto dir = LaunchDir::Make(TemporaryFolder());
  if (dir.ok() || !absl::IsResourceExhausted(dir.status())) return dir;
  auto in_memory = LaunchDir::Make(kMemoryFolder);
  return in_memory.ok() ? std::move(in_memory) : std::move(dir);
}

// Cleans up after launches that were killed together with their shims, and reports it.
void EndDeadLaunches(const std::string& tmp, const Console& console) {
  for (const DeadLaunch& dead : SweepDeadLaunches(tmp)) {
    PrintMessage(console, absl::StrCat("an earlier launch was killed: ended ", dead.processes,
                                       " of its processes and removed ", dead.path));
  }
}

}  // namespace

LocalAgent::Options Workplace::AgentOptions(bool cpu, common::PortRange ports) const {
  return {.shim_path = shim,
          .jobs_dir = dir->path(),
          .with_gpus = !cpu,
          .cgroups = cgroups,
          .inherit_fd = dir->lock_fd(),
          .spill_dir = spill_dir(),
          .open_files = open_files,
          .ports = ports};
}

std::string Workplace::OutputOf(const std::string& log_dir, const std::string& job_id) const {
  return logs::JobLogDir(log_dir.empty() ? dir->path() : log_dir, job_id);
}

std::string Workplace::SpillOf(const std::string& job_id) const {
  return spill == nullptr ? "" : logs::JobLogDir(spill->path(), job_id);
}

absl::Status Workplace::Note(const std::string& output) const {
  return dir->Note(absl::StrCat(logs::kErrorFileVariable, "=", output, "/"), cgroups);
}

absl::StatusOr<Workplace> MakeWorkplace(const std::string& shim, const Console& console) {
  Workplace place;
  ACCEL_ASSIGN_OR_RETURN(place.shim, agent::FindShim(shim));
  EndDeadLaunches(TemporaryFolder(), console);
  EndDeadLaunches(kMemoryFolder, console);
  ACCEL_ASSIGN_OR_RETURN(place.dir, MakeLaunchDir());
  // If this fails, output that the folder refuses is dropped.
  if (auto spill = LaunchDir::Make(kMemoryFolder); spill.ok()) place.spill = *std::move(spill);
  place.signals = StopSignals();
  // The relay holds two files of each worker open. Workers get the user's original limit back.
  place.open_files = common::RaiseDescriptorLimit();
  place.cgroups = process::ProbeCgroups();
  return place;
}

void UnblockStopSignals() {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

}  // namespace accel::cli
