// Writes a job's output to this process's standard output and error as it arrives. A separate
// thread does this, because a terminal that does not read must not block anything else.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "cli/config/core/tee.h"
#include "cli/line_relay.h"
#include "cli/tee_files.h"
#include "common/wake_fd.h"
#include "logs/log_follower.h"

namespace accel::cli {

// The output that could not be written to a standard stream.
struct OutputLoss {
  int error = 0;      // The errno of the first failure, or 0 if nothing is lost.
  int64_t bytes = 0;  // Total number of bytes lost since the first failure.
};

// The ranks of one generation that run on this machine, which is number `machine` of `machines`.
struct MachineRanks {
  int first = 0;
  int count = std::numeric_limits<int>::max();
  int machine = 0;
  int machines = 1;
};

class OutputRelay {
 public:
  struct Options {
    bool prefix = true;  // Lines begin with their rank.
    // Folder for output that the job's folder cannot take. If empty, none.
    std::string spill_dir = {};
    // Lines of these streams begin with the role and the local rank instead, as in "[default0]:".
    // If `copies`, these streams are also copied into files in the job's folder (tee_files.h).
    Tee tee = {};
    std::string role = {};
    bool copies = false;
  };

  // `job_dir` is the folder that contains gen_1, gen_2 and so on.
  OutputRelay(std::string job_dir, Options options);
  ~OutputRelay();

  // Notes progress of the job. The first `ended` generations have all their output on disk, and the
  // next generation may have started. `ranks` has the ranks of this machine by generation. Output
  // of other ranks is not relayed, although it is in the same folder if machines share a disk.
  // Output of a generation without an entry waits for an entry, or for the generation's end.
  void Update(int ended, const std::map<int, MachineRanks>& ranks = {});

  // Returns a descriptor that is readable once output has been lost.
  int loss_fd() const { return loss_.get(); }
  // Returns the loss of STDOUT_FILENO or STDERR_FILENO so far.
  OutputLoss loss(int fd);

  // Blocks until the output of all `ended` generations of the job has been written. There must be
  // no later generations.
  void Drain(int ended);

  // Returns the first error of a copy, or OK. Must be called after Drain().
  const absl::Status& copies_status() const { return copies_.status(); }

 private:
  void Run();
  void RunGeneration(int generation);
  void Write(int generation, const std::vector<logs::LogPiece>& pieces, LineRelay* out,
             LineRelay* err);
  void LinkErrorFiles(int generation);
  LineRelay RelayTo(int fd);
  std::string AttemptDir(int generation) const;
  std::optional<MachineRanks> RanksOf(int generation);
  void WriteAll(int fd, absl::string_view bytes);
  // Blocks until Update() or Drain() is called, or `follower`, if not null, has new output.
  void Wait(const logs::LogFollower* follower);
  bool Ended(int generation);
  bool IsLast(int generation);

  const std::string job_dir_;
  const Options options_;
  MachineRanks here_;  // The ranks of this machine in the generation that is relayed.
  TeeFiles copies_;
  common::WakeFd wake_;
  common::WakeFd loss_;
  absl::Mutex mutex_;
  int ended_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<int, MachineRanks> ranks_ ABSL_GUARDED_BY(mutex_);  // By generation.
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
  OutputLoss out_loss_ ABSL_GUARDED_BY(mutex_);
  OutputLoss err_loss_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace accel::cli
