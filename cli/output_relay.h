// Writes a job's output to this process's standard output and error as it comes, from a thread of
// its own: a terminal that does not read holds up nobody else.
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

// What could not be written to a standard stream.
struct OutputLoss {
  int error = 0;      // The first reason, an errno; 0: nothing is lost.
  int64_t bytes = 0;  // Also what came after it and could not be written either.
};

class OutputRelay {
 public:
  // `job_dir`: the folder that has gen_1, gen_2... `prefix`: lines carry their rank. `spill_dir`:
  // the same for the output that `job_dir` has refused; empty: there is none.
  OutputRelay(std::string job_dir, bool prefix, std::string spill_dir = "");
  ~OutputRelay();

  // The job has changed: `ended` generations have all their output on disk, and a new one may have
  // begun.
  void Update(int ended);

  // Readable from the first loss on.
  int loss_fd() const { return loss_.get(); }
  // Of STDOUT_FILENO or STDERR_FILENO, up to now.
  OutputLoss loss(int fd);

  // Returns when all output of the first `ended` generations, the last ones, has been written.
  void Drain(int ended);

 private:
  void Run();
  void RunGeneration(int generation);
  void Write(const std::vector<logs::LogPiece>& pieces, LineRelay* out, LineRelay* err);
  void WriteAll(int fd, absl::string_view bytes);
  // Waits for news of the job, and of the follower if there is one.
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
