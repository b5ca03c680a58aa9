// `accel launch` is a whole cluster in one process: a coordinator, the agent of one node, and a
// client that follows one job. They are connected in memory (cli/local_cluster.h). A job behaves as
// with `accel submit`, because the same code decides about it. No socket listens on the network,
// except that of the job's store on loopback.
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
// job. The first signal cancels the job, and a second signal kills its workers. This process exits
// only when no worker is left. If this process is killed, the shim ends the job. If both are
// killed, the next launch cleans up (cli/launch_dir.h).
#include "cli/launch.h"

#include <google/protobuf/stubs/logging.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "cli/calling_program.h"
#include "cli/config/core/meeting_place.h"
#include "cli/connect.h"
#include "cli/coordinated_job.h"
#include "cli/follow_launch.h"
#include "cli/job_spec.h"
#include "cli/launch_flags.h"
#include "cli/local_cluster.h"
#include "cli/machines/launch_machines.h"
#include "cli/plan_launch.h"
#include "cli/print_plan.h"
#include "cli/program_fault.h"
#include "cli/render/end_message.h"
#include "cli/submit_and_wait.h"
#include "cli/workplace.h"
#include "common/log.h"
#include "common/status_macros.h"

namespace accel::cli {
namespace {

void DescribeTerminal(const LaunchPlan& plan, v1::JobSpec* spec) {
  // The processes of several machines form one world, even if each machine has one.
  const bool is_one = plan.num_machines == 1 && (plan.processes.empty() || plan.processes[0] == 1);
  // Progress bars are written to standard error, after the prefix that the relay adds to each line.
  int prefix = is_one ? 0 : static_cast<int>(std::strlen("[rank 0] "));
  if (plan.tee.Has(0, /*is_stdout=*/false)) prefix = static_cast<int>(plan.role.size() + 4);
  winsize size = {};
  if (isatty(STDERR_FILENO) && ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0) {
    spec->set_terminal_columns(std::max((size.ws_col > 0 ? size.ws_col : 80) - prefix, 1));
  }
  spec->set_keep_stdin(is_one && isatty(STDIN_FILENO));
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

// Submits the job to the coordinator that the settings or the environment name, and waits for it.
absl::StatusOr<int> RunOnCluster(const std::string& coordinator, const v1::JobSpec& spec,
                                 const Console& console) {
  ACCEL_ASSIGN_OR_RETURN(const auto client, ConnectToCoordinator({.coordinator = coordinator}));
  return SubmitAndWait(*client, spec, {.wait = true, .json = false}, console);
}

// Runs the job on this machine alone.
absl::StatusOr<int> RunHere(const LaunchFlags& flags, const LaunchPlan& plan,
                            const v1::JobSpec& spec, bool quiet, const Console& console) {
  ACCEL_ASSIGN_OR_RETURN(const Workplace workplace, MakeWorkplace(flags.shim, console));
  ACCEL_ASSIGN_OR_RETURN(std::unique_ptr<LocalCluster> cluster,
                         LocalCluster::Start(workplace.AgentOptions(spec.cpu(), {})));
  ACCEL_ASSIGN_OR_RETURN(const common::JobId id, SubmitLaunch(cluster->coordinator(), spec));
  const std::string output = workplace.OutputOf(spec.log_dir(), id.value());
  ACCEL_RETURN_IF_ERROR(workplace.Note(output));
  if (!spec.keep_stdin() && !quiet) SayIfInputIsNotRead(console);
  auto watched = std::make_unique<CoordinatedJob>(cluster->coordinator(), id);
  FollowLaunch follow(watched.get(), {output, RelayOptions(plan, workplace.SpillOf(id.value()))},
                      workplace.signals.get(), console);
  ACCEL_ASSIGN_OR_RETURN(const coordinator::JobPtr job, follow.Wait());
  cluster.reset();
  // The job has no processes left, so a signal may now end this process immediately, even if the
  // reader of its output is slow.
  UnblockStopSignals();
  follow.DrainOutput(*job);
  if (job->phase() == v1::FAILED) PrintMessage(console, EndMessage(*job));
  if (!flags.end_file.empty()) ACCEL_RETURN_IF_ERROR(WriteEnd(*job, flags.end_file));
  return follow.ExitCode(*job);
}

// Plans the part of this machine in a launch on several.
absl::StatusOr<MachinesLaunch> PlanMachinesLaunch(const LaunchFlags& flags, const LaunchPlan& plan,
                                                  const CallerContext& context) {
  MachinesLaunch launch;
  ACCEL_ASSIGN_OR_RETURN(const EffectiveSettings settings, SettingsOf(flags, context));
  ACCEL_ASSIGN_OR_RETURN(launch.place, FindMeetingPlace(settings, context.env, plan.num_machines));
  launch.plan = plan;
  launch.words = flags.job.program.words;
  launch.counts_itself = settings.IsGiven("nproc_per_node");
  return launch;
}

absl::StatusOr<int> Run(const LaunchFlags& flags, const Console& console) {
  if (flags.parent != 0) ACCEL_RETURN_IF_ERROR(EndWithParent(flags.parent));
  ACCEL_ASSIGN_OR_RETURN(const CallerContext context, RealCallerContext());
  ACCEL_ASSIGN_OR_RETURN(const LaunchPlan plan, PlanFor(flags, context));
  ACCEL_ASSIGN_OR_RETURN(v1::JobSpec spec, MakeLaunchSpec(flags, plan, context));
  const bool quiet = EffectiveSettings(std::nullopt, flags.settings).Is("quiet");
  for (const std::string& note : plan.notes) {
    if (!quiet) PrintMessage(console, note);
  }
  if (flags.dry_run) {
    // The nodes of a cluster may have files that this machine lacks.
    const auto fault = plan.on_cluster ? std::nullopt : FindProgramFault(spec, context);
    if (fault.has_value()) {
      PrintMessage(console, fault->sentence);
      return fault->exit_code;
    }
    PrintPlan(plan, spec, flags.json, console);
    return kExitOk;
  }
  if (!flags.end_file.empty() && (plan.on_cluster || plan.num_machines > 1)) {
    return absl::InvalidArgumentError("--end_file is for a launch on one machine");
  }
  if (plan.on_cluster) return RunOnCluster(plan.coordinator, spec, console);
  const bool one_machine = plan.num_machines == 1;
  DescribeTerminal(plan, &spec);
  if (one_machine) return RunHere(flags, plan, spec, quiet, console);
  ACCEL_ASSIGN_OR_RETURN(MachinesLaunch launch, PlanMachinesLaunch(flags, plan, context));
  launch.spec = std::move(spec);
  ACCEL_ASSIGN_OR_RETURN(const Workplace workplace, MakeWorkplace(flags.shim, console));
  if (!quiet) SayIfInputIsNotRead(console);
  return LaunchOnMachines(launch, workplace, console);
}

}  // namespace

int LaunchJob(const LaunchFlags& flags, const Console& console) {
  common::InitLog("accel", common::LogLevel::kWarning);
  // The arguments and variables of a job on this machine may be any bytes, because it never leaves
  // this process. Protobuf would log an error about each one that is not UTF-8.
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
