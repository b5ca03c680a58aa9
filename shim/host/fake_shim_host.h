// A ShimHost without processes: records what it is told, reports what a test says.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/unique_fd.h"
#include "shim/host/shim_host.h"

namespace accel {

// Not thread-safe. Generations report kStarting, and nothing happens, until the test calls one of
// the functions at the end.
class FakeShimHost final : public ShimHost {
 public:
  FakeShimHost();

  absl::Status StartShim(const JobId& job) override;
  absl::Status StartGeneration(const GenerationStart& start, UniqueFd store_socket) override;
  absl::Status StopGeneration(const GenerationStop& stop) override;
  // Kills what runs. The shim is gone by the next TakeReports(), or later: see HoldLeaving().
  void EndShim(const JobId& job) override;
  std::vector<ShimReport> TakeReports() override;
  int wake_fd() const override { return wake_.get(); }

  // Every start, and every stop of a live generation, in order.
  const std::vector<GenerationStart>& starts() const { return starts_; }
  const std::vector<GenerationStop>& stops() const { return stops_; }
  bool has_shim(const JobId& job) const { return shims_.count(job) > 0; }

  // The next StartShim fails with this.
  void FailNextShim(absl::Status status) { next_shim_ = std::move(status); }

  // Whether shims that were told to end go on leaving, as real ones do for some milliseconds.
  void HoldLeaving(bool hold);

  // What a shim would report; the job must have a generation. `Exit` of the last running worker
  // ends the generation.
  void ExecDone(const JobId& job);
  void FailToStart(const JobId& job, const ExitFact& why);
  void Exit(const JobId& job, int rank, const ExitFact& how,
            std::vector<std::string> last_lines = {});
  void ExitAll(const JobId& job, const ExitFact& how);  // Of workers that run.
  void KillShim(const JobId& job);

 private:
  struct Shim {
    std::optional<GenerationReport> newest;
    bool changed = false;
    bool leaving = false;
    bool ended = false;
  };

  GenerationReport* Newest(const JobId& job);
  void Changed(const JobId& job);

  UniqueFd wake_;
  std::map<JobId, Shim> shims_;
  std::vector<GenerationStart> starts_;
  std::vector<GenerationStop> stops_;
  absl::Status next_shim_;
  bool hold_leaving_ = false;
};

}  // namespace accel
