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
// process/sweep.h), so that the processes that a killed shim leaves become its children. It must
// have no other children than its shims, because any other child is taken for a process that a
// killed shim has left, and is killed.
class PosixShimHost final : public ShimHost {
 public:
  struct Options {
    std::string shim_path;  // Path of accel-shim.
    // Result of ProbeCgroups(). Starts that name no control group get theirs from it.
    process::CgroupSupport cgroups;
    // Folder for records and sockets, through which the next host finds this one's shims, made if
    // it is missing (docs/decisions/0032). If empty, no other host can find them, and they end
    // their jobs with this one.
    std::string shims_dir = {};
    std::string boot_id = {};  // The id of the present boot. Required with shims_dir.
    // A descriptor, such as that of a lock, that every shim inherits and keeps open. If -1, there
    // is none.
    int inherit_fd = -1;
    // RLIMIT_NOFILE of shims and workers. If unset, this process's limit.
    std::optional<rlimit> open_files = std::nullopt;
    // Time after the grace of a stop until an unresponsive shim is asked again, and time that its
    // answer may take before it is killed (shim_watchdog.h).
    absl::Duration shim_slack = absl::Seconds(4);
    // Folder on another file system, such as one in memory, for output that the jobs' own folders
    // cannot take (docs/decisions/0028). It has the same layout. If empty, such output is dropped.
    std::string spill_dir = {};
    // Time that the shims have to answer in Adopt(). Those that take longer are reported
    // as their records describe them, until they answer.
    absl::Duration adoption_timeout = absl::Seconds(1);
    // The shims of other users, with their workers, have a /dev/shm of their own.
    bool private_shared_memory = false;
  };

  explicit PosixShimHost(Options options);

  // Closes the shims' channels as the death of an agent would. Shims whose jobs end with their
  // agent do so with the orphan grace. Waits for those, and kills shims that take ten seconds
  // longer.
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

  // May be readable although there is no report, because TakeReports() also performs pending work.
  int wake_fd() const override { return loop_.fd(); }

 private:
  HostedShim* FindRunning(const common::JobId& job);
  absl::Status Launch(HostedShim* shim);
  void MakeCgroups(HostedShim* shim) const;
  // Kills what is left in the groups of a job of another user. Returns true once they are gone.
  static bool RemoveJobCgroups(const HostedShim& shim);
  // Returns true if the process that a shim of another user names as its own can be it.
  static bool MayBe(const HostedShim& shim, const ShimHello& hello);
  absl::Status CheckStart(const HostedShim& shim, const StartCommand& start, bool has_socket) const;
  StartCommand Fill(const HostedShim& shim, StartCommand start) const;
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
  // Asks unresponsive shims again, and kills those that do not answer.
  void CheckWatchdogs();
  void ArmWatchdogTimer();
  // Kills the processes that dead shims have left, as far as possible without waiting. A timer
  // calls it again for the rest.
  void SweepLeftovers();
  bool EndLeftovers(HostedShim* shim);
  void Finish(HostedShim* shim);
  // Returns true if its job ends with this host.
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
