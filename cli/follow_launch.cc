#include "cli/follow_launch.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/job_phase.h"
#include "common/status_macros.h"
#include "common/world_size.h"

namespace accel::cli {
namespace {

// Returns the number of the newest generation, or 0 before the first.
int Generations(const v1::Job& job) {
  return job.generations().empty() ? 0 : job.generations().rbegin()->generation();
}

// Returns the ranks of a machine by generation.
std::map<int, MachineRanks> RanksOf(const v1::Job& job, const std::string& node_id) {
  std::map<int, MachineRanks> ranks;
  for (const v1::GenerationRecord& generation : job.generations()) {
    MachineRanks& here = ranks[generation.generation()];
    here = {.count = 0, .machines = generation.placements_size()};
    for (int i = 0; i < generation.placements_size(); ++i) {
      const v1::Placement& placement = generation.placements(i);
      if (!node_id.empty() && placement.node_id() != node_id) continue;
      here = {placement.first_rank(), placement.processes(), i, generation.placements_size()};
    }
  }
  return ranks;
}

}  // namespace

OutputRelay::Options RelayOptions(const LaunchPlan& plan, std::string spill_dir) {
  return {.spill_dir = std::move(spill_dir),
          .tee = plan.tee,
          .role = plan.role,
          .copies = !plan.log_dir.empty() && !plan.tee.IsEmpty()};
}

FollowLaunch::FollowLaunch(LaunchedJob* job, Output output, int signals, const Console& console)
    : job_(*job), output_(std::move(output)), signals_(signals), console_(console) {}

absl::StatusOr<coordinator::JobPtr> FollowLaunch::Wait() {
  while (true) {
    ACCEL_ASSIGN_OR_RETURN(coordinator::JobPtr job, job_.Get());
    if (job != nullptr) Relay(*job);
    if (job != nullptr && common::IsFinal(job->phase())) return job;
    const bool may_lose = relay_ != nullptr && !loss_said_;
    pollfd fds[] = {{job_.wake_fd(), POLLIN, 0},
                    {signals_, POLLIN, 0},
                    {may_lose ? relay_->loss_fd() : -1, POLLIN, 0}};
    poll(fds, 3, -1);
    if (fds[1].revents != 0) OnSignal();
    if (fds[2].revents != 0) OnLoss();
  }
}

void FollowLaunch::DrainOutput(const v1::Job& job) {
  if (relay_ == nullptr) return;
  relay_->Drain(Generations(job));
  const absl::Status& copies = relay_->copies_status();
  if (!copies.ok()) PrintMessage(console_, copies.message());
}

int FollowLaunch::ExitCode(const v1::Job& job) {
  const int signal = signal_ != 0 ? signal_ : job_.signal();
  if (job.phase() == v1::CANCELLED && signal != 0) return 128 + signal;
  const OutputLoss loss = Loss();
  if (loss.error == 0 || job.exit_code() != 0) return job.exit_code();
  if (loss.error == EPIPE) return 128 + SIGPIPE;
  PrintMessage(console_,
               absl::StrCat(loss.bytes, " bytes of output are lost: ", strerror(loss.error)));
  return kExitError;
}

void FollowLaunch::Relay(const v1::Job& job) {
  if (job.generations().empty()) return;
  if (relay_ == nullptr) {
    output_.relay.prefix = common::WorldSize(*job.generations().rbegin()) > 1;
    relay_ = std::make_unique<OutputRelay>(output_.job_dir, output_.relay);
  }
  relay_->Update(common::IsFinal(job.phase()) ? Generations(job) : Generations(job) - 1,
                 RanksOf(job, output_.node_id));
}

// Returns the loss of both streams. EPIPE wins over other errors, because a reader that is gone
// ends the job.
OutputLoss FollowLaunch::Loss() {
  if (relay_ == nullptr) return {};
  OutputLoss out = relay_->loss(STDOUT_FILENO);
  const OutputLoss err = relay_->loss(STDERR_FILENO);
  if (out.error == 0 || err.error == EPIPE) out.error = err.error;
  out.bytes += err.bytes;
  return out;
}

// Handles the first loss of output. EPIPE cancels the job, as SIGPIPE ends any program. Other
// errors, such as a full disk, may pass, so training continues.
void FollowLaunch::OnLoss() {
  loss_said_ = true;
  const int error = Loss().error;
  if (error != EPIPE) {
    PrintMessage(console_,
                 absl::StrCat("cannot write output: ", strerror(error), "; some of it is lost"));
    return;
  }
  if (signal_ == 0) signal_ = SIGPIPE;
  PrintMessage(console_, "the reader of the output is gone: ending the workers");
  job_.Cancel(SIGPIPE, /*at_once=*/false);
}

// The first signal cancels the job; any further one kills its workers.
void FollowLaunch::OnSignal() {
  signalfd_siginfo info;
  if (read(signals_, &info, sizeof(info)) != sizeof(info)) return;
  const bool again = signal_ != 0;
  const int number = static_cast<int>(info.ssi_signo);
  if (!again) signal_ = number;
  std::fprintf(stderr, "accel: %s: %s\n", strsignal(number),
               again ? "killing the workers" : "ending the workers; a second signal kills them");
  job_.Cancel(number, again);
}

}  // namespace accel::cli
