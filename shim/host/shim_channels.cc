// What a host does with the channels of its shims: it watches them, and takes the messages that
// arrive. adoption.cc takes the hello. The rest of the class is in posix_shim_host.cc.

#include <signal.h>
#include <sys/epoll.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "common/clock.h"
#include "common/log.h"
#include "shim/host/posix_shim_host.h"
#include "shim/host/timer.h"
#include "shim/host/user_report.h"

namespace accel::shim {
namespace {

using Phase = HostedShim::Phase;

// The pause between the end of a channel and the first attempt to connect again.
constexpr absl::Duration kReconnectPause = absl::Milliseconds(100);

}  // namespace

void PosixShimHost::Connect(HostedShim* shim, common::UniqueFd socket) {
  shim->channel = std::make_unique<Channel>(std::move(socket));
  WatchChannel(shim);
}

void PosixShimHost::WatchChannel(HostedShim* shim) {
  if (shim->channel == nullptr) return;
  const uint32_t room = shim->channel->has_unsent() ? uint32_t{EPOLLOUT} : 0;
  loop_.Watch(shim->channel->fd(), EPOLLIN | room, [this, shim] { OnChannel(shim); });
}

void PosixShimHost::CloseChannel(HostedShim* shim) {
  if (shim->channel == nullptr) return;
  loop_.Unwatch(shim->channel->fd());
  shim->channel.reset();
}

absl::Status PosixShimHost::Take(const Frame& frame, HostedShim* shim) {
  absl::StatusOr<ShimMessage> message = DecodeMessage(frame.type, frame.payload);
  if (!message.ok()) return message.status();
  if (auto* report = std::get_if<GenerationReport>(&*message)) {
    Take(std::move(*report), shim);
  } else if (const auto* hello = std::get_if<ShimHello>(&*message)) {
    Take(*hello, shim);
  } else if (const auto* refusal = std::get_if<ShimRefusal>(&*message)) {
    shim->LogRefusal(refusal->why);
  }
  return absl::OkStatus();
}

void PosixShimHost::Take(GenerationReport report, HostedShim* shim) {
  shim->has_reported = true;
  // A report of an earlier generation.
  if (!shim->newest || report.id != shim->newest->id) return;
  // An end is final. The watchdog no longer counts, and the shim of another user may say anything.
  const auto ended_state = GenerationReport::State::kEnded;
  if (shim->newest->state == ended_state && report.state != ended_state) return;
  const bool is_users = shim->record.uid != 0;
  shim->newest = is_users ? Believed(report, shim->record) : std::move(report);
  shim->awaits_report = false;
  shim->leaving |= shim->newest->shim_is_leaving;
  shim->changed = true;
  const bool ended = shim->newest->state == ended_state;
  ended ? shim->watchdog.Disarm() : shim->watchdog.ReportReceived(common::SteadyClock()->Now());
}

void PosixShimHost::OnChannel(HostedShim* shim) {
  if (shim->channel == nullptr) return;
  std::vector<Frame> frames;
  shim->channel->Flush();
  absl::Status status = shim->channel->Receive(&frames);
  for (const Frame& frame : frames) {
    const absl::Status taken = Take(frame, shim);
    if (shim->channel == nullptr) return;
    if (!taken.ok()) {
      status = taken;
      break;
    }
  }
  ArmWatchdogTimer();
  if (status.ok()) return WatchChannel(shim);
  CloseChannel(shim);
  const bool starts = shim->is_child && !shim->has_reported;
  // The package was upgraded while this agent runs, and the shim refuses its start.
  if (starts && absl::IsFailedPrecondition(status)) shim->mismatch = std::string(status.message());
  if (shim->phase != Phase::kRunning) return;
  if (absl::IsUnavailable(status)) {
    // The pidfd reports the exit. Without pidfd support in the kernel, the end-of-file does.
    if (!shim->pidfd.valid() && shim->is_child) OnExit(shim);
    // A shim that can have other hosts may have dropped this one.
    if (shim->folder) ArmTimer(reconnect_timer_, kReconnectPause);
    return;
  }
  shim->awaits_hello = shim->awaits_report = false;
  common::LogError(
      "a shim is not understood",
      {{"job", shim->job.value()}, {"pid", shim->record.pid}, {"why", status.message()}});
  // A shim that has reported, or that an earlier agent has started, has a job. That job is left
  // alone (docs/decisions/0033).
  shim->not_understood = true;
  if (starts) shim->Signal(SIGKILL);
}

}  // namespace accel::shim
