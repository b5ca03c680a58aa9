#include "cli/launch.h"

#include <google/protobuf/stubs/logging.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/find_shim.h"
#include "agent/logs/log_paths.h"
#include "cli/job_spec.h"
#include "cli/launch_flags.h"
#include "cli/local_cluster.h"
#include "cli/output_relay.h"
#include "cli/render/end_message.h"
#include "common/job_phase.h"
#include "common/log.h"
#include "common/status_macros.h"
#include "common/world_size.h"

namespace accel {
namespace {

// SIGINT, SIGTERM and SIGHUP (unless nohup has it ignored) as a descriptor; blocked in all threads
// to come.
UniqueFd StopSignals() {
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGINT);
  sigaddset(&stop, SIGTERM);
  struct sigaction hup;
  if (sigaction(SIGHUP, nullptr, &hup) == 0 && hup.sa_handler != SIG_IGN) sigaddset(&stop, SIGHUP);
  sigprocmask(SIG_BLOCK, &stop, nullptr);
  signal(SIGPIPE, SIG_IGN);
  return UniqueFd(signalfd(-1, &stop, SFD_CLOEXEC | SFD_NONBLOCK));
}

void UnblockStopSignals() {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

// A folder for this launch alone, gone when it ends.
class ScratchDir {
 public:
  static absl::StatusOr<std::unique_ptr<ScratchDir>> Make() {
    const char* tmp = std::getenv("TMPDIR");
    std::string path =
        absl::StrCat(tmp == nullptr || *tmp == '\0' ? "/tmp" : tmp, "/accel-launch-XXXXXX");
    if (mkdtemp(path.data()) == nullptr) {
      return absl::ErrnoToStatus(errno, absl::StrCat("cannot make a folder for output at ", path));
    }
    return std::make_unique<ScratchDir>(path);
  }
  explicit ScratchDir(std::string path) : path_(std::move(path)) {}
  ~ScratchDir() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

// The job as its watcher last saw it.
struct Seen {
  WakeFd wake;
  absl::Mutex mutex;
  absl::StatusOr<JobPtr> job ABSL_GUARDED_BY(mutex) = JobPtr();

  void Set(absl::StatusOr<JobPtr> changed) {
    absl::MutexLock lock(&mutex);
    job = std::move(changed);
    wake.Wake();
  }
  absl::StatusOr<JobPtr> Get() {
    wake.Clear();
    absl::MutexLock lock(&mutex);
    return job;
  }
};

// The number of the newest generation; 0 before the first.
int Generations(const v1::Job& job) {
  return job.generations().empty() ? 0 : job.generations().rbegin()->generation();
}

void DescribeTerminal(v1::JobSpec* spec, int num_processes) {
  // Progress bars go to standard error, behind the prefix that the relay puts before each line.
  const int prefix = num_processes > 1 ? static_cast<int>(std::strlen("[rank 0] ")) : 0;
  winsize size = {};
  if (isatty(STDERR_FILENO) && ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0) {
    spec->set_terminal_columns(std::max((size.ws_col > 0 ? size.ws_col : 80) - prefix, 1));
  }
  spec->set_keep_stdin(num_processes <= 1 && isatty(STDIN_FILENO));
}

absl::StatusOr<JobId> Submit(Coordinator* coordinator, const v1::JobSpec& spec) {
  struct Answer {
    WakeFd wake;
    absl::StatusOr<JobId> job;
  };
  const auto answer = std::make_shared<Answer>();
  coordinator->SubmitJob("launch", spec, [answer](absl::StatusOr<JobId> job) {
    answer->job = std::move(job);
    answer->wake.Wake();
  });
  pollfd ready = {answer->wake.get(), POLLIN, 0};
  while (poll(&ready, 1, -1) < 0 && errno == EINTR) {
  }
  return answer->job;
}

// Follows one job to its end.
class Launch {
 public:
  // `job_dir`: where the job's output will be.
  Launch(Coordinator* coordinator, JobId job, std::string job_dir, int signals)
      : coordinator_(coordinator),
        job_(std::move(job)),
        job_dir_(std::move(job_dir)),
        signals_(signals) {
    watch_ = coordinator_->WatchJob(
        job_, 0, [seen = seen_](absl::StatusOr<JobPtr> job) { seen->Set(std::move(job)); });
  }

  // The job in its final phase.
  absl::StatusOr<JobPtr> Wait() {
    while (true) {
      ACCEL_ASSIGN_OR_RETURN(JobPtr job, seen_->Get());
      if (job != nullptr) Relay(*job);
      if (job != nullptr && IsFinal(job->phase())) return job;
      pollfd fds[] = {{seen_->wake.get(), POLLIN, 0}, {signals_, POLLIN, 0}};
      poll(fds, 2, -1);
      if (fds[1].revents != 0) OnSignal();
    }
  }

  // All output is written when this returns. Call it once the job is over.
  void DrainOutput(const v1::Job& job) {
    if (relay_ != nullptr) relay_->Drain(Generations(job));
  }

  // The first signal that asked for the end, or 0.
  int signal() const { return signal_; }

 private:
  void Relay(const v1::Job& job) {
    if (job.generations().empty()) return;
    if (relay_ == nullptr) {
      relay_ = std::make_unique<OutputRelay>(job_dir_, WorldSize(*job.generations().rbegin()) > 1);
    }
    relay_->Update(IsFinal(job.phase()) ? Generations(job) : Generations(job) - 1);
  }

  // The first asks workers to end, any further one kills them.
  void OnSignal() {
    signalfd_siginfo info;
    if (read(signals_, &info, sizeof(info)) != sizeof(info)) return;
    const bool again = signal_ != 0;
    if (!again) signal_ = static_cast<int>(info.ssi_signo);
    std::fprintf(stderr, "accel: %s: %s\n", strsignal(static_cast<int>(info.ssi_signo)),
                 again ? "killing the workers" : "ending the workers; once more kills them");
    coordinator_->CancelJob(job_, again, [](absl::Status) {});
  }

  Coordinator* const coordinator_;
  const JobId job_;
  const std::string job_dir_;
  const int signals_;
  const std::shared_ptr<Seen> seen_ = std::make_shared<Seen>();
  std::unique_ptr<Subscription> watch_;
  std::unique_ptr<OutputRelay> relay_;
  int signal_ = 0;
};

absl::StatusOr<int> Run(const LaunchFlags& flags, const Console& console) {
  ACCEL_ASSIGN_OR_RETURN(const Surroundings around, RealSurroundings());
  ACCEL_ASSIGN_OR_RETURN(v1::JobSpec spec, MakeLaunchSpec(flags, around));
  DescribeTerminal(&spec, flags.num_processes);
  ACCEL_ASSIGN_OR_RETURN(const std::string shim, FindShim(flags.shim));
  ACCEL_ASSIGN_OR_RETURN(const std::unique_ptr<ScratchDir> scratch, ScratchDir::Make());
  const UniqueFd signals = StopSignals();
  ACCEL_ASSIGN_OR_RETURN(
      std::unique_ptr<LocalCluster> cluster,
      LocalCluster::Start(
          {.shim_path = shim, .jobs_dir = scratch->path(), .with_gpus = !spec.cpu()}));
  ACCEL_ASSIGN_OR_RETURN(const JobId id, Submit(cluster->coordinator(), spec));
  const std::string output =
      JobLogDir(spec.log_dir().empty() ? scratch->path() : spec.log_dir(), id.value());
  Launch launch(cluster->coordinator(), id, output, signals.get());
  ACCEL_ASSIGN_OR_RETURN(const JobPtr job, launch.Wait());
  cluster.reset();
  // Nothing of the job is left: a signal may now end this process at once, however slowly its
  // output is read.
  UnblockStopSignals();
  launch.DrainOutput(*job);
  if (job->phase() == v1::FAILED) Say(console, EndMessage(*job));
  return job->phase() == v1::CANCELLED && launch.signal() != 0 ? 128 + launch.signal()
                                                               : job->exit_code();
}

}  // namespace

int RunLaunch(const std::vector<std::string>& args, const Console& console) {
  InitLog("accel", LogLevel::kWarning);
  // Arguments and variables may be any bytes here: the job never leaves this process.
  google::protobuf::SetLogHandler(nullptr);
  LaunchFlags flags;
  FlagSet flag_set = MakeLaunchFlagSet(&flags);
  if (const auto over = ParseOrExplain(flag_set, args, console)) return *over;
  if (const absl::Status wrong = CheckLaunchFlags(flags); !wrong.ok()) return Fail(console, wrong);
  const absl::StatusOr<int> code = Run(flags, console);
  return code.ok() ? *code : Fail(console, code.status());
}

}  // namespace accel
