#include "shim/shim.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/version.h"
#include "process/process_table.h"
#include "shim/shim_program.h"
#include "shim/start_checks.h"

namespace accel::shim {
namespace {

// Maximum time for which the last report waits for an agent that does not read. It is long, because
// an agent on an overloaded machine may not run for seconds. Without the report, the agent would
// conclude that the shim was killed. It is shorter than the time after which the agent kills a shim
// that does not end (shim_watchdog.cc).
constexpr absl::Duration kLastReportTimeout = absl::Seconds(6);
// Maximum time for which a new shim waits for the agent that started it. The agent connects
// immediately, unless it has been killed.
constexpr absl::Duration kFirstAgentTimeout = absl::Seconds(10);
// Interval at which a shim whose generation has ended checks whether its store is still used, while
// it has no agent.
constexpr absl::Duration kStoreCheck = absl::Milliseconds(200);

constexpr char kAgentGone[] = "its agent was gone, and the job ends with its agent (on_agent_loss)";

absl::Time Now() { return common::SteadyClock()->Now(); }

}  // namespace

Shim::Shim(ShimOptions options)
    : job_(std::move(options.job)),
      folder_(std::move(options.folder)),
      signals_(std::move(options.signals)),
      start_store_(std::move(options.start_store)),
      inherited_(options.inherited),
      agent_(&loop_,
             {.connected = std::move(options.control),
              .listener = std::move(options.listener),
              .hello = [this] { return Hello(); },
              .on_command = [this](ShimCommand command) { return Perform(std::move(command)); },
              .on_lost = [this](const absl::Status& why) { OnAgentLost(why); }}),
      started_(Now()) {
  loop_.Watch(signals_.get(), EPOLLIN, [this] { OnSignal(); });
  // The function only clears the wake-up, because each turn of the loop checks
  // the writer's progress.
  loop_.Watch(output_.wake_fd(), EPOLLIN, [this] { output_.Clear(); });
}

int Shim::Run() {
  while (!Done(Now())) {
    loop_.RunOnce(WakeAt() - Now());
    if (generation_) {
      Reap();
      generation_->Tick(Now());
      Reap();
    }
    Report();
  }
  if (output_.unwritten() > 0) {
    std::fprintf(stderr, "accel-shim: the disk hangs: %zu bytes of workers' output are lost.\n",
                 output_.unwritten());
  }
  return *exit_;
}

ShimHello Shim::Hello() const {
  ShimHello hello;
  hello.job = job_;
  hello.pid = getpid();
  if (const auto self = process::ReadProcess(getpid())) {
    hello.start_time_ticks = self->start_time_ticks;
  }
  hello.release = common::kVersion;
  if (generation_) hello.generation = generation_->start().id.generation;
  return hello;
}

absl::Status Shim::Perform(ShimCommand command) {
  had_agent_ = true;
  if (auto* start = std::get_if<StartCommand>(&command)) return Perform(std::move(*start));
  if (const auto* stop = std::get_if<StopCommand>(&command)) {
    if (generation_ && generation_->start().id == stop->id) generation_->Stop(Now(), stop->grace);
  } else if (std::holds_alternative<ContactCommand>(command)) {
    if (generation_) generation_->Contact(Now());
  } else if (std::holds_alternative<EndCommand>(command)) {
    if (generation_) generation_->Stop(Now(), absl::ZeroDuration());
    exit_ = kShimEnded;
    folder_.reset();  // No result is written, because the agent needs none any more.
  }
  return absl::OkStatus();
}

absl::Status Shim::Perform(StartCommand start) {
  common::UniqueFd store_socket = start.serves_store ? agent_.TakeFd() : common::UniqueFd();
  if (start.serves_store && !store_socket.valid()) {
    return absl::InvalidArgumentError("A start came without its store's socket.");
  }
  if (generation_ && start.id.generation <= generation_->start().id.generation) {
    return absl::OkStatus();
  }
  if (generation_ && generation_->state() != GenerationLife::State::kEnded) {
    return absl::InvalidArgumentError(
        absl::StrCat("Generation ", start.id.generation, " must not start before generation ",
                     generation_->start().id.generation, " has ended."));
  }
  // The start came too late. The agent notices that this shim exits.
  if (exit_) return absl::OkStatus();
  generation_ =
      std::make_unique<GenerationProcesses>(std::move(start), &loop_, &output_, inherited_);
  // The start is noted before any worker exists, so that a later agent knows whether there can
  // have been workers.
  std::optional<ExitFact> obstacle = NoteStart(generation_->start().id.generation);
  generation_->Start(std::move(store_socket), start_store_, std::move(obstacle), Now());
  return absl::OkStatus();
}

std::optional<ExitFact> Shim::NoteStart(common::Generation generation) const {
  if (!folder_.valid()) return std::nullopt;
  const std::string text = absl::StrCat(generation);
  const common::UniqueFd file(
      openat(folder_.get(), kShimStartedName, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  // The file need not be truncated, because the number that it replaces is lower and has
  // no more digits.
  if (file.valid() &&
      write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size())) {
    return std::nullopt;
  }
  return NotStarted(
      1,
      absl::StrCat("Cannot note the start in the agent's state directory: ", strerror(errno), "."));
}

void Shim::OnSignal() {
  // SIGCHLD needs no action here, because it has woken the loop, and each turn of the loop reaps.
  signalfd_siginfo info;
  while (read(signals_.get(), &info, sizeof(info)) == sizeof(info)) {
    if (info.ssi_signo == SIGTERM) EndJob(kShimEnded);
  }
}

void Shim::OnAgentLost(const absl::Status& why) {
  had_agent_ = true;
  const bool gone = absl::IsUnavailable(why);
  if (!agent_.listens()) return EndJob(gone ? kShimAgentGone : kShimProtocolError);
  // Another agent can connect later. Until then a job with `keep_without_agent` continues.
  if (generation_ && generation_->start().keep_without_agent) return;
  if (generation_) generation_->Abandon(Now(), kAgentGone);
  EndJob(gone ? kShimAgentGone : kShimProtocolError);
}

void Shim::EndJob(ShimExit exit) {
  if (generation_) generation_->Stop(Now(), generation_->start().orphan_grace);
  if (exit_) return;
  exit_ = exit;
  leaving_changed_ = true;
}

void Shim::Reap() {
  while (true) {
    int status = 0;
    const pid_t pid = waitpid(-1, &status, WNOHANG | WUNTRACED);
    if (pid == 0) return;
    // ECHILD proves that no descendant is left (docs/decisions/0008).
    if (pid < 0) return generation_->NoChildLeft();
    if (WIFSTOPPED(status)) {
      generation_->Stopped(pid, WSTOPSIG(status));
    } else {
      generation_->Reaped(pid, status, Now());
    }
  }
}

std::string Shim::EncodedReport() const {
  GenerationReport report = generation_->MakeReport();
  report.shim_is_leaving = exit_.has_value();
  return EncodeReport(report);
}

void Shim::Report() {
  if (!generation_) return;
  const bool leaving = std::exchange(leaving_changed_, false);
  const bool changed = generation_->TakeChanged();
  agent_.Report(changed || leaving, [this] { return EncodedReport(); });
}

absl::Time Shim::WakeAt() {
  absl::Time wake_at = std::min(leave_at_, output_.WakeAt());
  if (generation_) wake_at = std::min(wake_at, generation_->wake_at());
  if (agent_.connected() || exit_) return wake_at;
  if (!generation_) return std::min(wake_at, started_ + kFirstAgentTimeout);
  const bool ended = generation_->state() == GenerationLife::State::kEnded;
  return ended ? std::min(wake_at, Now() + kStoreCheck) : wake_at;
}

bool Shim::IsOverWithoutAgent(absl::Time now) {
  if (agent_.connected()) return false;
  if (!generation_) return had_agent_ || now >= started_ + kFirstAgentTimeout;
  // Ranks on other nodes may still need the store.
  return generation_->state() == GenerationLife::State::kEnded && !generation_->StoreIsUsed();
}

bool Shim::Done(absl::Time now) {
  if (!exit_ && IsOverWithoutAgent(now)) exit_ = kShimAgentGone;
  if (!exit_ || (generation_ && generation_->state() != GenerationLife::State::kEnded))
    return false;
  // Without a generation there is no report to wait for.
  if (generation_ && agent_.connected() && agent_.has_unsent()) {
    leave_at_ = std::min(leave_at_, now + kLastReportTimeout);
    if (now < leave_at_) return false;
    KeepResult();
  }
  if (!agent_.connected()) KeepResult();
  return true;
}

void Shim::KeepResult() {
  if (!folder_.valid() || !generation_) return;
  const std::string bytes = EncodeFrame(FrameType::kReport, EncodedReport());
  const std::string aside = absl::StrCat(kShimResultName, ".new");
  const common::UniqueFd file(
      openat(folder_.get(), aside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (file.valid() &&
      write(file.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()) &&
      renameat(folder_.get(), aside.c_str(), folder_.get(), kShimResultName) == 0) {
    return;
  }
  std::fprintf(stderr, "accel-shim: the result of job %s cannot be kept: %s.\n",
               job_.value().c_str(), strerror(errno));
}

}  // namespace accel::shim
