// A ShimHost whose shims are real processes on this node.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/unique_fd.h"
#include "process/cgroup.h"
#include "shim/channel.h"
#include "shim/event_loop.h"
#include "shim/host/shim_host.h"
#include "shim/host/shim_watchdog.h"

namespace accel::shim {

// This process must be a subreaper before the first shim starts (BecomeSubreaper() in
// process/sweep.h), so that the processes that a killed shim leaves become its children. It must
// have no other children than its shims, because any other child is taken for a process that a
// killed shim has left, and is killed.
class PosixShimHost final : public ShimHost {
 public:
  struct Options {
    std::string shim_path;  // Path of accel-shim.
    // Result of ProbeCgroups(). Starts that name no control group get theirs from it.
    process::CgroupSupport cgroups;
    // A descriptor, such as that of a lock, that every shim inherits and keeps open
    // (docs/decisions/0003). If -1, there is none.
    int inherit_fd = -1;
    // RLIMIT_NOFILE of shims and workers. If unset, this process's limit.
    std::optional<rlimit> open_files = std::nullopt;
    // Time after the grace of a stop until an unresponsive shim is asked again, and time that its
    // answer may take before it is killed (shim_watchdog.h).
    absl::Duration shim_slack = absl::Seconds(4);
    // Folder on another file system, such as one in memory, for output that the jobs' own folders
    // cannot take (docs/decisions/0028). It has the same layout. If empty, such output is dropped.
    std::string spill_dir = {};
  };

  explicit PosixShimHost(Options options);

  // Closes the shims' channels as the death of an agent would, so they end their jobs with the
  // orphan grace. Waits for that, and kills shims that take two seconds longer.
  ~PosixShimHost() override;

  absl::Status StartShim(const common::JobId& job) override;
  absl::Status StartGeneration(const StartCommand& start, common::UniqueFd store_socket) override;
  absl::Status StopGeneration(const StopCommand& stop) override;
  void EndShim(const common::JobId& job) override;
  std::vector<ShimReport> TakeReports() override;

  // May be readable although there is no report, because TakeReports() also performs pending work.
  int wake_fd() const override { return loop_.fd(); }

 private:
  struct Shim {
    Shim(common::UniqueFd socket, pid_t process, absl::Duration slack)
        : channel(std::move(socket)), pid(process), watchdog(slack) {}

    Channel channel;
    const pid_t pid;
    common::UniqueFd pidfd;
    // kLeftovers: the process is gone, and the processes that it may have left are being killed.
    enum class Phase { kRunning, kLeftovers, kGone } phase = Phase::kRunning;
    std::string end;  // Once it has ended: how, as a sentence.
    std::optional<GenerationReport> newest;
    std::optional<absl::Duration> stop_grace;  // The grace of the last stop that was sent.
    ShimWatchdog watchdog;
    bool unresponsive = false;  // It was killed because it did not respond.
    absl::Duration orphan_grace;
    std::string cgroup_path;
    std::string memory_cgroup_path;
    bool end_sent = false;
    bool changed = false;
  };

  Shim* FindRunning(const common::JobId& job);
  void WatchChannel(Shim* shim);
  void OnChannel(Shim* shim);
  void OnExit(Shim* shim);
  // Asks unresponsive shims again, and kills those that do not answer.
  void CheckWatchdogs();
  void ArmWatchdogTimer();
  // Kills the processes that dead shims have left, as far as possible without waiting. A timer
  // calls it again for the rest.
  void SweepLeftovers();
  bool EndLeftovers(Shim* shim);
  void Finish(Shim* shim);
  void AwaitShims(absl::Duration at_most);
  bool IsRunningShim(pid_t pid) const;

  const Options options_;
  EventLoop loop_;
  common::UniqueFd watchdog_timer_;
  common::UniqueFd sweep_timer_;
  absl::Duration sweep_pause_;
  std::map<common::JobId, std::unique_ptr<Shim>> shims_;
};

}  // namespace accel::shim
