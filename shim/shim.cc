#include "shim/shim.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "common/clock.h"

namespace accel::shim {
namespace {

// Time that the last report may wait for an agent that does not read.
constexpr absl::Duration kLastReportTimeout = absl::Seconds(2);

absl::Time Now() { return common::SteadyClock()->Now(); }

}  // namespace

Shim::Shim(ShimOptions options)
    : control_(std::move(options.control)),
      signals_(std::move(options.signals)),
      start_store_(std::move(options.start_store)),
      inherited_(options.inherited) {
  loop_.Watch(control_.fd(), EPOLLIN, [this] { OnControl(); });
  loop_.Watch(signals_.get(), EPOLLIN, [this] { OnSignal(); });
  // Waking the loop is enough, because each turn looks at the writer's progress.
  loop_.Watch(output_.wake_fd(), EPOLLIN, [this] { output_.Clear(); });
}

int Shim::Run() {
  while (!Done(Now())) {
    const absl::Time wake_at = generation_ ? generation_->wake_at() : absl::InfiniteFuture();
    loop_.RunOnce(std::min({wake_at, leave_at_, output_.WakeAt()}) - Now());
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

void Shim::OnControl() {
  std::vector<Frame> frames;
  const absl::Status status = control_.Receive(&frames);
  for (const Frame& frame : frames) {
    auto command = DecodeCommand(frame.type, frame.payload);
    if (!command.ok()) return Break(command.status());
    std::visit([this](auto&& known) { Handle(std::move(known)); }, *std::move(command));
    if (!control_open_) return;
  }
  if (absl::IsUnavailable(status)) {
    // The agent is gone, and jobs end with their agent (docs/decisions/0015).
    CloseControl();
    EndJob(kShimAgentGone);
  } else if (!status.ok()) {
    Break(status);
  }
}

void Shim::OnSignal() {
  // SIGCHLD is ignored here: it has woken the loop, which reaps in each turn.
  signalfd_siginfo info;
  while (read(signals_.get(), &info, sizeof(info)) == sizeof(info)) {
    if (info.ssi_signo == SIGTERM) EndJob(kShimEnded);
  }
}

void Shim::Handle(StartCommand start) {
  common::UniqueFd store_socket = start.serves_store ? control_.TakeFd() : common::UniqueFd();
  if (start.serves_store && !store_socket.valid()) {
    return Break(absl::InvalidArgumentError("A start came without its store's socket."));
  }
  if (generation_ && start.id.generation <= generation_->start().id.generation) return;
  if (generation_ && generation_->state() != GenerationLife::State::kEnded) {
    return Break(absl::InvalidArgumentError(
        absl::StrCat("Generation ", start.id.generation, " must not start before generation ",
                     generation_->start().id.generation, " has ended.")));
  }
  generation_ =
      std::make_unique<GenerationProcesses>(std::move(start), &loop_, &output_, inherited_);
  generation_->Start(std::move(store_socket), start_store_, Now());
}

void Shim::Handle(const StopCommand& stop) {
  if (generation_ && generation_->start().id == stop.id) generation_->Stop(Now(), stop.grace);
}

void Shim::Handle(EndCommand) {
  if (generation_) generation_->Stop(Now(), absl::ZeroDuration());
  exit_ = kShimEnded;
}

void Shim::EndJob(ShimExit exit) {
  if (generation_) generation_->Stop(Now(), generation_->start().orphan_grace);
  if (!exit_) exit_ = exit;
}

void Shim::CloseControl() {
  loop_.Unwatch(control_.fd());
  control_open_ = false;
}

void Shim::Break(const absl::Status& why) {
  std::fprintf(stderr, "accel-shim: %s The job ends.\n", std::string(why.message()).c_str());
  CloseControl();
  EndJob(kShimProtocolError);
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

void Shim::Report() {
  if (!generation_ || !control_open_) return;
  report_waits_ |= generation_->TakeChanged();
  control_.Flush();
  // At most one report is in progress, because a newer one replaces everything that
  // an older one says.
  if (report_waits_ && !control_.has_unsent()) {
    control_.Send(FrameType::kReport, EncodeReport(generation_->MakeReport()));
    report_waits_ = false;
  }
  if (control_.has_unsent() == awaits_room_) return;
  awaits_room_ = control_.has_unsent();
  loop_.Watch(control_.fd(), awaits_room_ ? EPOLLIN | EPOLLOUT : EPOLLIN, [this] { OnControl(); });
}

bool Shim::Done(absl::Time now) {
  if (!exit_ || (generation_ && generation_->state() != GenerationLife::State::kEnded))
    return false;
  if (!control_open_ || (!report_waits_ && !control_.has_unsent())) return true;
  leave_at_ = std::min(leave_at_, now + kLastReportTimeout);
  return now >= leave_at_;
}

}  // namespace accel::shim
