// The agent's shims as real processes on this node.
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
#include "shim/host/shim_patience.h"

namespace accel::shim {

// The process must be a subreaper (BecomeSubreaper() in process/sweep.h, before the first
// shim), so that what a killed shim leaves behind comes to it. It must have no children of its own
// beside its shims: whichever it has once a shim was killed, are taken for that shim's and killed.
class PosixShimHost final : public ShimHost {
 public:
  struct Options {
    std::string shim_path;  // accel-shim.
    process::CgroupSupport
        cgroups;          // ProbeCgroups(). Starts that name no control group get theirs here.
    int inherit_fd = -1;  // Every shim holds this one open as long as it lives (a lock); -1: none.
    // RLIMIT_NOFILE of shims and workers; none: this process's.
    std::optional<rlimit> open_files = std::nullopt;
    // How long after the grace of a stop a shim that stands still is asked, and may take to answer,
    // before it is killed (shim_patience.h).
    absl::Duration shim_slack = absl::Seconds(4);
    // Folder on another file system for the output that the jobs' own folders refuse, such as one
    // in memory; laid out as those are. Empty: that output is dropped.
    std::string spill_dir = {};
  };

  explicit PosixShimHost(Options options);

  // Leaves the shims as an agent that is gone does: they end their jobs with the orphan grace.
  // Waits for that, and kills what takes two seconds longer.
  ~PosixShimHost() override;

  absl::Status StartShim(const common::JobId& job) override;
  absl::Status StartGeneration(const GenerationStart& start,
                               common::UniqueFd store_socket) override;
  absl::Status StopGeneration(const GenerationStop& stop) override;
  void EndShim(const common::JobId& job) override;
  std::vector<ShimReport> TakeReports() override;

  // May be readable without there being a report: taking them does the work that waits, too.
  int wake_fd() const override { return loop_.fd(); }

 private:
  struct Shim {
    Shim(common::UniqueFd socket, pid_t process, absl::Duration slack)
        : channel(std::move(socket)), pid(process), patience(slack) {}

    Channel channel;
    const pid_t pid;
    common::UniqueFd pidfd;
    // kLeftovers: the process is gone, what it may have left is being ended.
    enum class Phase { kRunning, kLeftovers, kGone } phase = Phase::kRunning;
    std::string end;  // How it ended, once it has: a sentence.
    std::optional<GenerationReport> newest;
    std::optional<absl::Duration> stop_grace;  // Of the last stop that was sent.
    ShimPatience patience;
    bool stood_still = false;  // And was killed for it.
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
  // Asks shims that seem to stand still, and kills those that do.
  void LookForStandstill();
  void ArmStandstillTimer();
  // Ends what killed shims have left, as far as it goes at once; the timer comes back to it.
  void SweepLeftovers();
  bool EndLeftovers(Shim* shim);
  void Finish(Shim* shim);
  void AwaitShims(absl::Duration at_most);
  bool IsRunningShim(pid_t pid) const;

  const Options options_;
  EventLoop loop_;
  common::UniqueFd standstill_timer_;
  common::UniqueFd sweep_timer_;
  absl::Duration sweep_pause_;
  std::map<common::JobId, std::unique_ptr<Shim>> shims_;
};

}  // namespace accel::shim
