// A ShimHost without processes, for tests. Records all calls, and reports what the test sets.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/unique_fd.h"
#include "shim/host/shim_host.h"

namespace accel::shim {

// Not thread-safe. A started generation reports kStarting, and then nothing changes until the test
// calls one of the last functions of the class.
class FakeShimHost final : public ShimHost {
 public:
  FakeShimHost();

  // Returns all shims. A new agent on the same host adopts them.
  std::vector<ShimReport> Adopt() override;
  absl::Status StartShim(const common::JobId& job) override;
  absl::Status StartShimAs(const common::JobId& job, const process::Account& user) override;
  std::optional<uid_t> UserOf(const common::JobId& job) const override;
  absl::Status StartGeneration(const StartCommand& start, common::UniqueFd store_socket) override;
  absl::Status StopGeneration(const StopCommand& stop) override;
  // Ends what is running. The next TakeReports() reports that the shim is gone, unless
  // HoldLeaving(true) is in effect.
  void EndShim(const common::JobId& job) override;
  void Forget(const common::JobId& job) override { forgotten_.push_back(job); }
  void SetContact(bool contact) override { contact_ = contact; }
  std::vector<ShimReport> TakeReports() override;
  int wake_fd() const override { return wake_.get(); }

  // Return every start, and every stop of a live generation, in order.
  const std::vector<StartCommand>& starts() const { return starts_; }
  const std::vector<StopCommand>& stops() const { return stops_; }
  // Returns the account of each shim that was started with StartShimAs().
  const std::map<common::JobId, std::string>& users() const { return users_; }
  bool has_shim(const common::JobId& job) const { return shims_.count(job) > 0; }
  const std::vector<common::JobId>& forgotten() const { return forgotten_; }
  bool contact() const { return contact_; }

  // Makes the next StartShim() fail with this status.
  void FailNextShim(absl::Status status) { next_shim_ = std::move(status); }

  // If `hold`, shims that are asked to exit do not exit until HoldLeaving(false). Real shims
  // take some milliseconds.
  void HoldLeaving(bool hold);

  // Change the state that the shim reports. The job must have a generation. Exit() for the last
  // running worker ends the generation.
  void ExecDone(const common::JobId& job);
  void FailToStart(const common::JobId& job, const ExitFact& why);
  void Exit(const common::JobId& job, int rank, const ExitFact& how,
            std::vector<std::string> last_lines = {});
  void ExitAll(const common::JobId& job, const ExitFact& how);  // Affects running workers only.
  void KillShim(const common::JobId& job);
  // Ends the jobs that do not outlive their agent, as their shims do when it is killed.
  void KillAgent();

 private:
  struct Shim {
    std::optional<GenerationReport> newest;
    bool keep = false;  // The newest generation outlives its agent.
    bool changed = false;
    bool leaving = false;
    bool ended = false;
  };

  GenerationReport* Newest(const common::JobId& job);
  void Changed(const common::JobId& job);

  std::map<common::JobId, std::string> users_;
  std::map<common::JobId, uid_t> uids_;
  common::UniqueFd wake_;
  std::map<common::JobId, Shim> shims_;
  std::vector<StartCommand> starts_;
  std::vector<StopCommand> stops_;
  std::vector<common::JobId> forgotten_;
  absl::Status next_shim_;
  bool contact_ = false;
  bool hold_leaving_ = false;
};

}  // namespace accel::shim
