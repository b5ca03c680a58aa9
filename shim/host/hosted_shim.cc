#include "shim/host/hosted_shim.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

#include "common/clock.h"
#include "common/log.h"
#include "common/printable.h"
#include "process/pidfd.h"
#include "process/stop_and_kill.h"

namespace accel::shim {
namespace {

constexpr size_t kMaxRefusalBytes = 512;

}  // namespace

void HostedShim::Send(FrameType type, absl::string_view payload, common::UniqueFd fd) {
  if (channel != nullptr) channel->Send(type, payload, std::move(fd));
}

void HostedShim::Signal(int signal) {
  if (pidfd.valid()) {
    syscall(SYS_pidfd_send_signal, pidfd.get(), signal, nullptr, 0);
  } else if (is_child) {
    kill(record.pid, signal);  // The pid of a child is not reused before the child is reaped.
  } else {
    process::SignalProcess(record.pid, record.start_time_ticks, signal);
  }
}

void HostedShim::LogRefusal(absl::string_view why) {
  const auto left_out = refusals.Admit(common::SteadyClock()->Now());
  if (!left_out.has_value()) return;
  const std::string text = common::Printable(why.substr(0, kMaxRefusalBytes));
  common::LogError("a shim refused a command", {{"job", job.value()},
                                                {"why", common::Shortened(text, kMaxRefusalBytes)},
                                                {"same_since_last_line", *left_out}});
}

bool HostedShim::IsGone() const { return !process::IsRunning(record.pid, record.start_time_ticks); }

}  // namespace accel::shim
