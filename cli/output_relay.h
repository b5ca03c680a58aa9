// Writes a job's output to this process's standard output and error as it arrives. A separate
// thread does so, because a terminal that does not read must block nothing else.
#pragma once

#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "cli/line_relay.h"
#include "common/wake_fd.h"
#include "logs/log_follower.h"

namespace accel::cli {

// The output that could not be written to a standard stream.
struct OutputLoss {
  int error = 0;      // The errno of the first failure, or 0 if nothing is lost.
  int64_t bytes = 0;  // Total number of bytes lost since the first failure.
};

class OutputRelay {
 public:
  // `job_dir` is the folder that contains gen_1, gen_2 and so on. If `prefix`, lines begin
  // with their rank. `spill_dir` is the folder for output that `job_dir` refused; empty if
  // there is none.
  OutputRelay(std::string job_dir, bool prefix, std::string spill_dir = "");
  ~OutputRelay();

  // Reports progress of the job: the first `ended` generations have all their output on disk, and a
  // new one may have started.
  void Update(int ended);

  // Returns a descriptor that is readable once output has been lost.
  int loss_fd() const { return loss_.get(); }
  // Returns the loss of STDOUT_FILENO or STDERR_FILENO so far.
  OutputLoss loss(int fd);

  // Blocks until the output of all `ended` generations of the job has been written. There must be
  // no later generations.
  void Drain(int ended);

 private:
  void Run();
  void RunGeneration(int generation);
  void Write(const std::vector<logs::LogPiece>& pieces, LineRelay* out, LineRelay* err);
  void WriteAll(int fd, absl::string_view bytes);
  // Blocks until Update() or Drain() is called, or `follower`, if not null, has new output.
  void Wait(const logs::LogFollower* follower);
  bool Ended(int generation);
  bool IsLast(int generation);

  const std::string job_dir_;
  const bool prefix_;
  const std::string spill_dir_;
  common::WakeFd wake_;
  common::WakeFd loss_;
  absl::Mutex mutex_;
  int ended_ ABSL_GUARDED_BY(mutex_) = 0;
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
  OutputLoss out_loss_ ABSL_GUARDED_BY(mutex_);
  OutputLoss err_loss_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace accel::cli
