// One shim, as its host sees it.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/ids.h"
#include "common/log_throttle.h"
#include "common/unique_fd.h"
#include "process/account.h"
#include "shim/channel.h"
#include "shim/core/messages.h"
#include "shim/host/shim_folder.h"
#include "shim/host/shim_record.h"
#include "shim/host/shim_watchdog.h"

namespace accel::shim {

struct HostedShim {
  HostedShim(common::JobId of_job, absl::Duration slack)
      : job(std::move(of_job)), watchdog(slack) {}

  const common::JobId job;
  // Unset if it can have no other host, because it ends with this one.
  std::optional<ShimFolder> folder;
  ShimRecord record;
  // The user as whom the shim runs. If unset, that of this process. Groups, home and shell are
  // known only to the host that has started the shim.
  std::optional<process::Account> user;
  bool is_child = true;  // False if an earlier agent started it.
  common::UniqueFd pidfd;
  // Null while it cannot be reached: it does not accept a connection, or is not understood.
  std::unique_ptr<Channel> channel;
  bool not_understood = false;  // It has another version of the protocol.
  bool has_reported = false;    // It has sent a report over a channel of this host.
  // kLeftovers: the process is gone, and the processes that it may have left are being killed.
  enum class Phase { kRunning, kLeftovers, kGone } phase = Phase::kRunning;
  std::string end;  // Once it has ended: how, as a sentence.
  std::optional<GenerationReport> newest;
  std::optional<absl::Duration> stop_grace;  // The grace of the last stop that was sent.
  ShimWatchdog watchdog;
  bool unresponsive = false;   // It was killed because it did not respond.
  bool awaits_hello = false;   // It was adopted, and has not sent its hello.
  bool awaits_report = false;  // The same, after its hello.
  bool taken_over = true;      // False during its adoption.
  bool end_sent = false;
  bool leaving = false;         // It exits by itself once its generation has ended.
  bool forgotten = false;       // Its results are stored by the coordinator.
  bool ends_with_host = false;  // The host is being destroyed, and waits for it.
  bool changed = false;
  common::LogThrottle refusals{absl::Minutes(1)};

  // Sends a frame. Does nothing if it cannot be reached.
  void Send(FrameType type, absl::string_view payload, common::UniqueFd fd = common::UniqueFd());
  // Sends a signal to its process, but never to another one that has got its pid.
  void Signal(int signal);
  // Logs why it refused a command. The shim of another user may send any text, and any number of
  // them.
  void LogRefusal(absl::string_view why);
  // Asks it to end its job with the orphan grace. Shims of all versions obey this.
  void Terminate() { Signal(SIGTERM); }
  // Returns true if no process with its pid runs. If its pid is not known, that is true as well.
  bool IsGone() const;
  bool has_live_generation() const {
    return newest && newest->state != GenerationReport::State::kEnded;
  }
};

}  // namespace accel::shim
