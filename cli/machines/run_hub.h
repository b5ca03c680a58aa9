// The state of a run on the serving machine: the machines that take part, the job, and why the
// run ends. The streams of the other machines and the launch of this machine write to it and
// read from it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "cli/machines/core/gathering.h"
#include "common/wake_fd.h"
#include "coordinator/coordinator.h"
#include "coordinator/latest_box.h"
#include "proto/run.pb.h"

namespace accel::cli {

// Thread-safe.
class RunHub {
 public:
  using Id = Gathering::Id;
  // A notice to the stream of a machine that NewsFor() has changed. The stream calls NewsFor() when
  // it can send, so it always sends the newest news.
  struct Changed {};
  using Ticks = coordinator::LatestBox<Changed>;

  // A signal that the user has sent to one of the machines.
  struct Interrupt {
    std::string host;
    int signal = 0;
    bool at_once = false;
  };

  // `own` is the machine that serves. Errors are those of Gathering::Join().
  static absl::StatusOr<std::unique_ptr<RunHub>> Make(std::string run_id, int machines,
                                                      const v1::RunMachine& own);

  // Lets another machine take part. ABORTED: End() was called. Other errors are
  // those of Gathering::Join().
  absl::StatusOr<Id> Join(const v1::RunMachine& machine);
  // Puts a tick into `ticks` now, and whenever the news for the machine change, until Leave().
  void Subscribe(Id id, std::shared_ptr<Ticks> ticks);
  v1::RunNews NewsFor(Id id);
  // Notes that the stream of a machine has ended.
  void Leave(Id id);
  void Signal(Id id, int signal, bool at_once);

  // Readable when the result of a function below has changed. The launch clears it.
  common::WakeFd& wake() { return wake_; }

  bool complete();
  // Returns a sentence such as "2 of 4 machines are here (h1, h2)".
  std::string Progress();
  // Returns the serving machine. Its placement order is known once the gathering is complete.
  Gathering::Member own();
  // Returns the number of processes that each machine has given, by machine rank. Must be called
  // after the gathering is complete.
  std::vector<int> Processes();
  // Returns a sentence about a machine that has left after the gathering was complete, because the
  // run then cannot continue. Empty if there is none.
  std::string gone();
  // Returns the signals since the last call.
  std::vector<Interrupt> TakeInterrupts();
  // Returns the number of other machines whose stream is open.
  int others();

  // Sends the job to all machines, without its environment.
  void SetJob(const v1::Job& job);
  // Tells all machines why the run ends. `signal` is 0 unless a signal ended it.
  void End(const std::string& why, int signal);
  // Ends the open streams of all other machines with `why`.
  void Close(const absl::Status& why);

 private:
  RunHub(std::string run_id, int machines);
  // Wakes the launch and all streams. Must be called without the lock, because a stream may call
  // this object when it is woken.
  void TickAll() ABSL_LOCKS_EXCLUDED(mutex_);
  std::vector<std::shared_ptr<Ticks>> AllTicks() ABSL_LOCKS_EXCLUDED(mutex_);

  const std::string run_id_;
  common::WakeFd wake_;
  absl::Mutex mutex_;
  Gathering gathering_ ABSL_GUARDED_BY(mutex_);
  std::map<Id, std::shared_ptr<Ticks>> ticks_ ABSL_GUARDED_BY(mutex_);
  std::optional<v1::Job> job_ ABSL_GUARDED_BY(mutex_);
  std::string ended_by_ ABSL_GUARDED_BY(mutex_);
  int signal_ ABSL_GUARDED_BY(mutex_) = 0;
  std::string gone_ ABSL_GUARDED_BY(mutex_);
  std::vector<Interrupt> interrupts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace accel::cli
