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
#include "shim/event_loop.h"
#include "shim/host/found_shims.h"
#include "shim/host/hosted_shim.h"
#include "shim/host/shim_host.h"

namespace accel::shim {

// This process must be a subreaper before the first shim starts (BecomeSubreaper() in
// process/sweep.h). The processes that a killed shim leaves then become children of this process.
// This process must have no other children than its shims. It would kill any other child, because
// it takes such a child for a process that a killed shim has left.
class PosixShimHost final : public ShimHost {
 public:
  struct Options {
    std::string shim_path;  // Path of accel-shim.
    // Result of ProbeCgroups(). Starts that name no control group get theirs from it.
    process::CgroupSupport cgroups;
    // Folder for records and sockets, made if it is missing. The next host finds this host's shims
    // through it (docs/decisions/0032). If empty, no later host can find the shims, so they end
    // their jobs when this host ends.
    std::string shims_dir = {};
    std::string boot_id = {};  // The id of the present boot. Required with shims_dir.
    // A descriptor, for example of a lock, that every shim inherits and keeps open. -1 if
    // there is none.
    int inherit_fd = -1;
    // RLIMIT_NOFILE of shims and workers. If unset, this process's limit.
    std::optional<rlimit> open_files = std::nullopt;
    // Nice value of shims and workers. If unset, this process's.
    std::optional<int> nice = std::nullopt;
    // Time after the grace of a stop until the stop is sent again. Also the time within which the
    // shim must then answer, or be killed (shim_watchdog.h).
    absl::Duration shim_slack = absl::Seconds(4);
    // Folder on another file system, such as one in memory, for output that the jobs' own folders
    // cannot take (docs/decisions/0028). It has the same layout. If empty, such output is dropped.
    std::string spill_dir = {};
    // Maximum time for which Adopt() waits for answers. A shim that takes longer is reported as its
    // record describes it, until it answers.
    absl::Duration adoption_timeout = absl::Seconds(1);
    // If true, each shim of another user, with its workers, has its own /dev/shm.
    bool private_shared_memory = false;
  };

  explicit PosixShimHost(Options options);

  // Closes the shims' channels, as the death of an agent would. Jobs that end with their agent are
  // then stopped with the orphan grace. Waits for the shims of these jobs, and kills those that
  // take ten seconds longer than the grace.
  ~PosixShimHost() override;

  std::vector<ShimReport> Adopt() override;
  absl::Status StartShim(const common::JobId& job) override;
  absl::Status StartShimAs(const common::JobId& job, const process::Account& user) override;
  std::optional<uid_t> UserOf(const common::JobId& job) const override;
  absl::Status StartGeneration(const StartCommand& start, common::UniqueFd store_socket) override;
  absl::Status StopGeneration(const StopCommand& stop) override;
  void EndShim(const common::JobId& job) override;
  void Forget(const common::JobId& job) override;
  void SetContact(bool contact) override;
  std::vector<ShimReport> TakeReports() override;

  // May be readable without a report, because TakeReports() also performs pending work.
  int wake_fd() const override { return loop_.fd(); }

 private:
  HostedShim* FindRunning(const common::JobId& job);
  absl::Status Launch(HostedShim* shim);
  void MakeCgroups(HostedShim* shim) const;
  // Kills all processes in the control groups of another user's job. Returns true once the
  // groups are removed.
  static bool RemoveJobCgroups(const HostedShim& shim);
  // Returns true unless the hello of another user's shim names a process or generation that cannot
  // be its own.
  static bool MayBe(const HostedShim& shim, const ShimHello& hello);
  absl::Status CheckStart(const HostedShim& shim, const StartCommand& start, bool has_socket) const;
  void AdoptOne(FoundShim found);
  void GiveUpWaiting(HostedShim* shim);
  void WatchProcess(HostedShim* shim);
  void Connect(HostedShim* shim, common::UniqueFd socket);
  void Reconnect();
  void WatchChannel(HostedShim* shim);
  void OnChannel(HostedShim* shim);
  absl::Status Take(const Frame& frame, HostedShim* shim);
  void Take(const ShimHello& hello, HostedShim* shim);
  void Take(GenerationReport report, HostedShim* shim);
  void CloseChannel(HostedShim* shim);
  void OnExit(HostedShim* shim);
  void SendContact();
  void ArmContactTimer();
  // Sends stops again to shims that are late, and kills shims that do not answer them.
  void CheckWatchdogs();
  void ArmWatchdogTimer();
  // Kills the processes that dead shims have left, without waiting for their ends. A timer calls it
  // again until none is left.
  void SweepLeftovers();
  bool EndLeftovers(HostedShim* shim);
  void Finish(HostedShim* shim);
  // Returns true if the shim's job ends with this host.
  static bool EndsWithHost(const HostedShim& shim);
  void AwaitShims(absl::Duration at_most);
  bool IsRunningShim(pid_t pid) const;

  const Options options_;
  EventLoop loop_;
  common::UniqueFd watchdog_timer_;
  common::UniqueFd sweep_timer_;
  common::UniqueFd reconnect_timer_;
  common::UniqueFd contact_timer_;
  absl::Duration sweep_pause_;
  bool contact_ = false;
  bool contact_armed_ = false;
  std::map<common::JobId, std::unique_ptr<HostedShim>> shims_;
};

}  // namespace accel::shim
