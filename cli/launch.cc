// `accel launch` is a whole cluster in one process: a coordinator, the agent of one node, and a
// client that follows one job. They are connected in memory (cli/local_cluster.h), so a job behaves
// as under `accel submit`, because the same code decides about it. Nothing listens on the network,
// except the job's store on loopback.
//
// clang-format off
//   main thread    waits for the job, for signals and for lost output
//   coordinator    decides, and calls back with each version of the job
//   agent          starts and stops generations
//   output relay   copies the output from files to standard output and error
//   accel-shim     a process: starts and reaps the workers, writes their output to files
// clang-format on
//
// The output goes through files (docs/decisions/0006). A pipe from the workers to the terminal
// would be simpler, but a terminal that does not read would then block training.
//
// Signals are blocked in all threads and read from a descriptor, because a handler may not cancel a
// job. The first signal cancels the job, a second one kills its workers, and this process exits
// only when none is left. If it is killed itself, the shim ends the job. If both are killed, the
// next launch cleans up (cli/launch_dir.h).
#include "cli/launch.h"

#include <google/protobuf/stubs/logging.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/find_shim.h"
#include "cli/config/render_plan.h"
#include "cli/connect.h"
#include "cli/job_spec.h"
#include "cli/launch_dir.h"
#include "cli/launch_flags.h"
#include "cli/local_cluster.h"
#include "cli/output_relay.h"
#include "cli/plan_launch.h"
#include "cli/render/end_message.h"
#include "cli/submit_and_wait.h"
#include "common/descriptors.h"
#include "common/job_phase.h"
#include "common/log.h"
#include "common/status_macros.h"
#include "common/world_size.h"
#include "logs/log_paths.h"
#include "process/cgroup.h"

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
  return common::UniqueFd(signalfd(-1, &stop, SFD_CLOEXEC | SFD_NONBLOCK));
}

void UnblockStopSignals() {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
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

// The job as the coordinator last reported it. Set by the coordinator's thread, read by the launch.
struct Seen {
  common::WakeFd wake;
  absl::Mutex mutex;
  absl::StatusOr<coordinator::JobPtr> job ABSL_GUARDED_BY(mutex) = coordinator::JobPtr();

  void Set(absl::StatusOr<coordinator::JobPtr> changed) {
    absl::MutexLock lock(&mutex);
    job = std::move(changed);
    wake.Wake();
  }
  absl::StatusOr<coordinator::JobPtr> Get() {
    wake.Clear();
    absl::MutexLock lock(&mutex);
    return job;
  }
};

// Returns the number of the newest generation, or 0 before the first.
int Generations(const v1::Job& job) {
  return job.generations().empty() ? 0 : job.generations().rbegin()->generation();
}

void DescribeTerminal(v1::JobSpec* spec, int num_processes) {
  // Progress bars are written to standard error, after the prefix that the relay adds to each line.
  const int prefix = num_processes > 1 ? static_cast<int>(std::strlen("[rank 0] ")) : 0;
  winsize size = {};
  if (isatty(STDERR_FILENO) && ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0) {
    spec->set_terminal_columns(std::max((size.ws_col > 0 ? size.ws_col : 80) - prefix, 1));
  }
  spec->set_keep_stdin(num_processes <= 1 && isatty(STDIN_FILENO));
}

// Returns true if standard input is a pipe or a file with unread data, which no worker receives.
bool HasUnreadInput() {
  struct stat info;
  int waiting = 0;
  if (fstat(STDIN_FILENO, &info) != 0) return false;
  if (S_ISREG(info.st_mode)) return lseek(STDIN_FILENO, 0, SEEK_CUR) < info.st_size;
  return S_ISFIFO(info.st_mode) && ioctl(STDIN_FILENO, FIONREAD, &waiting) == 0 && waiting > 0;
}

void SayIfInputIsNotRead(const Console& console) {
  if (!HasUnreadInput()) return;
  PrintMessage(console,
               "workers do not get the standard input of this command; they read end of file (add "
               "</dev/null to avoid this message)");
}

absl::StatusOr<common::JobId> Submit(coordinator::Coordinator* coordinator,
                                     const v1::JobSpec& spec) {
  struct Answer {
    common::WakeFd wake;
    absl::StatusOr<common::JobId> job;
  };
  const auto answer = std::make_shared<Answer>();
  coordinator->SubmitJob("launch", spec, [answer](absl::StatusOr<common::JobId> job) {
    answer->job = std::move(job);
    answer->wake.Wake();
  });
  pollfd ready = {answer->wake.get(), POLLIN, 0};
  while (poll(&ready, 1, -1) < 0 && errno == EINTR) {
  }
  return answer->job;
}

// Follows one job to its end: relays its output and turns signals into cancellation.
class Launch {
 public:
  // The folder of the job's output, and the folder for output that the first refuses. If
  // `spill_dir` is empty, such output is dropped.
  struct Output {
    std::string job_dir;
    std::string spill_dir;
  };
  Launch(coordinator::Coordinator* coordinator, common::JobId job, Output output, int signals,
         const Console& console)
      : coordinator_(coordinator),
        job_(std::move(job)),
        output_(std::move(output)),
        signals_(signals),
        console_(console) {
    watch_ = coordinator_->WatchJob(
        job_, 0,
        [seen = seen_](absl::StatusOr<coordinator::JobPtr> news) { seen->Set(std::move(news)); });
  }

  // Blocks until the job has ended. Returns it in its final phase.
  absl::StatusOr<coordinator::JobPtr> Wait() {
    while (true) {
      ACCEL_ASSIGN_OR_RETURN(coordinator::JobPtr job, seen_->Get());
      if (job != nullptr) Relay(*job);
      if (job != nullptr && common::IsFinal(job->phase())) return job;
      const bool may_lose = relay_ != nullptr && !loss_said_;
      pollfd fds[] = {{seen_->wake.get(), POLLIN, 0},
                      {signals_, POLLIN, 0},
                      {may_lose ? relay_->loss_fd() : -1, POLLIN, 0}};
      poll(fds, 3, -1);
      if (fds[1].revents != 0) OnSignal();
      if (fds[2].revents != 0) OnLoss();
    }
  }

  // Blocks until all output has been written or counted as lost. Call it once the job has ended.
  void DrainOutput(const v1::Job& job) {
    if (relay_ != nullptr) relay_->Drain(Generations(job));
  }

  // Returns the exit code of the launch. Reports how much output was lost.
  int ExitCode(const v1::Job& job) {
    if (job.phase() == v1::CANCELLED && signal_ != 0) return 128 + signal_;
    const OutputLoss loss = Loss();
    if (loss.error == 0 || job.exit_code() != 0) return job.exit_code();
    if (loss.error == EPIPE) return 128 + SIGPIPE;
    PrintMessage(console_,
                 absl::StrCat(loss.bytes, " bytes of output are lost: ", strerror(loss.error)));
    return kExitError;
  }

 private:
  void Relay(const v1::Job& job) {
    if (job.generations().empty()) return;
    if (relay_ == nullptr) {
      relay_ = std::make_unique<OutputRelay>(
          output_.job_dir, common::WorldSize(*job.generations().rbegin()) > 1, output_.spill_dir);
    }
    relay_->Update(common::IsFinal(job.phase()) ? Generations(job) : Generations(job) - 1);
  }

  // Returns the loss of both streams. EPIPE wins over other errors, because a reader that is gone
  // ends the job.
  OutputLoss Loss() {
    if (relay_ == nullptr) return {};
    OutputLoss out = relay_->loss(STDOUT_FILENO);
    const OutputLoss err = relay_->loss(STDERR_FILENO);
    if (out.error == 0 || err.error == EPIPE) out.error = err.error;
    out.bytes += err.bytes;
    return out;
  }

  // Handles the first loss of output. EPIPE cancels the job, as SIGPIPE ends any program. Other
  // errors, such as a full disk, may pass, so training continues.
  void OnLoss() {
    loss_said_ = true;
    const int error = Loss().error;
    if (error != EPIPE) {
      PrintMessage(console_,
                   absl::StrCat("cannot write output: ", strerror(error), "; some of it is lost"));
      return;
    }
    if (signal_ == 0) signal_ = SIGPIPE;
    PrintMessage(console_, "the reader of the output is gone: ending the workers");
    coordinator_->CancelJob(job_, /*at_once=*/false, [](absl::Status) {});
  }

  // The first signal cancels the job; any further one kills its workers.
  void OnSignal() {
    signalfd_siginfo info;
    if (read(signals_, &info, sizeof(info)) != sizeof(info)) return;
    const bool again = signal_ != 0;
    if (!again) signal_ = static_cast<int>(info.ssi_signo);
    std::fprintf(stderr, "accel: %s: %s\n", strsignal(static_cast<int>(info.ssi_signo)),
                 again ? "killing the workers" : "ending the workers; a second signal kills them");
    coordinator_->CancelJob(job_, again, [](absl::Status) {});
  }

  coordinator::Coordinator* const coordinator_;
  const common::JobId job_;
  const Output output_;
  const int signals_;
  const Console& console_;
  const std::shared_ptr<Seen> seen_ = std::make_shared<Seen>();
  std::unique_ptr<coordinator::Subscription> watch_;
  std::unique_ptr<OutputRelay> relay_;
  int signal_ = 0;  // The first signal that asked for the end, or SIGPIPE. 0 if none.
  bool loss_said_ = false;
};

// Submits a job of several machines to the coordinator that the settings name, and waits for it.
absl::StatusOr<int> RunOnCluster(const std::string& coordinator, const v1::JobSpec& spec,
                                 const Console& console) {
  ACCEL_ASSIGN_OR_RETURN(const auto client, ConnectToCoordinator({coordinator, ""}));
  return SubmitAndWait(*client, spec, {.wait = true, .json = false}, console);
}

void PrintPlan(const LaunchPlan& plan, const v1::JobSpec& spec, bool json, const Console& console) {
  common::EnvList env;
  for (const v1::EnvVar& variable : spec.env()) env.emplace_back(variable.name(), variable.value());
  const std::vector<std::string> command(spec.argv().begin(), spec.argv().end());
  console.out << (json ? RenderPlanAsJson(plan, command, env) + "\n"
                       : RenderPlan(plan, command, env));
}

absl::StatusOr<int> Run(const LaunchFlags& flags, const Console& console) {
  ACCEL_ASSIGN_OR_RETURN(const CallerContext context, RealCallerContext());
  ACCEL_ASSIGN_OR_RETURN(const LaunchPlan plan, PlanFor(flags, context));
  ACCEL_ASSIGN_OR_RETURN(v1::JobSpec spec, MakeLaunchSpec(flags, plan, context));
  const bool quiet = EffectiveSettings(std::nullopt, flags.settings).Is("quiet");
  for (const std::string& note : plan.notes) {
    if (!quiet) PrintMessage(console, note);
  }
  if (flags.dry_run) {
    PrintPlan(plan, spec, flags.json, console);
    return kExitOk;
  }
  if (plan.num_machines > 1) return RunOnCluster(plan.coordinator, spec, console);
  DescribeTerminal(&spec, plan.processes.empty() ? 0 : plan.processes[0]);
  ACCEL_ASSIGN_OR_RETURN(const std::string shim, agent::FindShim(flags.shim));
  EndDeadLaunches(TemporaryFolder(), console);
  EndDeadLaunches(kMemoryFolder, console);
  ACCEL_ASSIGN_OR_RETURN(const std::unique_ptr<LaunchDir> dir, MakeLaunchDir());
  // If this fails, output that the folder refuses is dropped.
  const auto spill = LaunchDir::Make(kMemoryFolder);
  const std::string spill_dir = spill.ok() ? (*spill)->path() : "";
  const common::UniqueFd signals = StopSignals();
  // The relay holds two files of each worker open. Workers get the user's original limit back.
  const rlimit open_files = common::RaiseDescriptorLimit();
  const process::CgroupSupport cgroups = process::ProbeCgroups();
  ACCEL_ASSIGN_OR_RETURN(std::unique_ptr<LocalCluster> cluster,
                         LocalCluster::Start({.shim_path = shim,
                                              .jobs_dir = dir->path(),
                                              .with_gpus = !spec.cpu(),
                                              .cgroups = cgroups,
                                              .inherit_fd = dir->lock_fd(),
                                              .spill_dir = spill_dir,
                                              .open_files = open_files}));
  ACCEL_ASSIGN_OR_RETURN(const common::JobId id, Submit(cluster->coordinator(), spec));
  const std::string output =
      logs::JobLogDir(spec.log_dir().empty() ? dir->path() : spec.log_dir(), id.value());
  ACCEL_RETURN_IF_ERROR(
      dir->Note(absl::StrCat(logs::kErrorFileVariable, "=", output, "/"), cgroups));
  if (!spec.keep_stdin() && !quiet) SayIfInputIsNotRead(console);
  const std::string spilled = spill_dir.empty() ? "" : logs::JobLogDir(spill_dir, id.value());
  Launch launch(cluster->coordinator(), id, {output, spilled}, signals.get(), console);
  ACCEL_ASSIGN_OR_RETURN(const coordinator::JobPtr job, launch.Wait());
  cluster.reset();
  // The job has no processes left, so a signal may now end this process immediately, even if the
  // reader of its output is slow.
  UnblockStopSignals();
  launch.DrainOutput(*job);
  if (job->phase() == v1::FAILED) PrintMessage(console, EndMessage(*job));
  return launch.ExitCode(*job);
}

}  // namespace

int LaunchJob(const LaunchFlags& flags, const Console& console) {
  common::InitLog("accel", common::LogLevel::kWarning);
  // The job never leaves this process, so its arguments and variables may be any bytes. Protobuf
  // would log an error about each one that is not UTF-8.
  google::protobuf::SetLogHandler(nullptr);
  const absl::StatusOr<int> code = Run(flags, console);
  return code.ok() ? *code : Fail(console, code.status());
}

int RunLaunch(const std::vector<std::string>& args, const Console& console) {
  LaunchFlags flags;
  FlagSet flag_set = MakeLaunchFlagSet(&flags);
  if (const auto over = ParseOrExplain(flag_set, args, console)) return *over;
  if (const absl::Status wrong = CheckLaunchFlags(flags); !wrong.ok()) return Fail(console, wrong);
  return LaunchJob(flags, console);
}

}  // namespace accel::cli
