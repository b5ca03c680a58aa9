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
  // Unset if no later host can take over this shim, because the shim ends with this host.
  std::optional<ShimFolder> folder;
  ShimRecord record;
  // The user as whom the shim runs. If unset, it is this process's user. Only the host that started
  // the shim knows the groups, home and shell.
  std::optional<process::Account> user;
  bool is_child = true;  // False if an earlier agent started it.
  common::UniqueFd pidfd;
  // Null while the shim cannot be reached. Either it accepts no connection, or it
  // is not understood.
  std::unique_ptr<Channel> channel;
  // The shim has another version of the protocol, or has sent false facts about itself.
  bool not_understood = false;
  // Why the shim could not start its generation: it has another version of the protocol than this
  // host, which has started it. As a sentence. Otherwise empty.
  std::string mismatch;
  bool has_reported = false;  // The shim has sent a report over a channel of this host.
  // kLeftovers: the shim's process is gone, and the processes that it may have left
  // are being killed.
  enum class Phase { kRunning, kLeftovers, kGone } phase = Phase::kRunning;
  std::string end;  // How the shim ended, as a sentence. Empty before.
  std::optional<GenerationReport> newest;
  std::optional<absl::Duration> stop_grace;  // The grace of the last stop that was sent.
  ShimWatchdog watchdog;
  bool unresponsive = false;   // The shim was killed because it did not respond.
  bool awaits_hello = false;   // The shim was adopted and has not sent its hello.
  bool awaits_report = false;  // The shim has sent its hello, but not yet its report.
  bool taken_over = true;      // False during its adoption.
  bool end_sent = false;
  bool leaving = false;         // The shim exits by itself once its generation has ended.
  bool forgotten = false;       // The coordinator has stored its results.
  bool ends_with_host = false;  // The host is being destroyed and waits for this shim.
  bool changed = false;
  common::LogThrottle refusals{absl::Minutes(1)};

  // Sends a frame. Does nothing if the shim cannot be reached.
  void Send(FrameType type, absl::string_view payload, common::UniqueFd fd = common::UniqueFd());
  // Sends a signal to the shim's process, but never to another process that has the same
  // pid by now.
  void Signal(int signal);
  // Logs why the shim refused a command. The text and the number of log lines are bounded, because
  // the shim of another user may send anything.
  void LogRefusal(absl::string_view why);
  // Sends SIGTERM, with which shims of all versions end their jobs after the orphan grace.
  void Terminate() { Signal(SIGTERM); }
  // Returns true if the shim's process does not run, or if its pid is not known.
  bool IsGone() const;
  bool has_live_generation() const {
    return newest && newest->state != GenerationReport::State::kEnded;
  }
};

}  // namespace accel::shim
