// Between the agents that relay the output of a job's ranks and the one client that reads it. A
// relay reads its next chunk only when the client has taken the last one, so a slow client costs
// one chunk for each rank, and stalls the relays alone: workers write to files.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "proto/service.pb.h"

namespace accel::coordinator {

// Thread-safe. Callbacks run outside the lock, on the thread whose call completed them.
class LogPipe {
 public:
  // A chunk, or else the status with which the reading ends (OK: every relay has sent its last
  // chunk).
  using Ready = absl::AnyInvocable<void(std::optional<v1::LogChunk>, absl::Status)>;
  // Whether the relay shall go on.
  using Taken = absl::AnyInvocable<void(bool)>;

  // What one chunk of output may have.
  static constexpr size_t kMostChunkBytes = 64 << 10;

  // The coordinator's side. The pipe ends when each of these relays has; nothing is pulled out
  // before this.
  void Expect(const std::vector<v1::LogReader>& relays);
  // The first end counts. What was pushed before is dropped.
  void Fail(absl::Status status);

  // The client's side. One pull at a time.
  void Pull(Ready ready);
  // The client has gone.
  void Cancel() { Fail(absl::CancelledError("the reader has gone")); }

  // A relay's side. False: not expected, or there is such a relay already.
  bool Open(const std::string& reader_id);
  // One push at a time. A chunk that says `end` is the relay's last. The chunk's rank and
  // generation are those that this relay was asked for, whatever it says.
  void Push(v1::LogChunk chunk, Taken taken);
  // The relay's stream is gone. If it has not said `end`, the client is told with a last chunk of
  // this rank.
  void Close(const std::string& reader_id, const std::string& why);

 private:
  struct Entry {
    v1::LogChunk chunk;
    Taken taken;
  };
  void Deliver(Ready ready, Entry entry);
  bool Over() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return end_.has_value() || (expecting_ && open_.empty() && unopened_.empty());
  }

  absl::Mutex mutex_;
  bool expecting_ ABSL_GUARDED_BY(mutex_) = false;
  // By reader id.
  std::map<std::string, v1::LogReader> unopened_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, v1::LogReader> open_ ABSL_GUARDED_BY(mutex_);
  std::deque<Entry> entries_ ABSL_GUARDED_BY(mutex_);
  std::optional<absl::Status> end_ ABSL_GUARDED_BY(mutex_);
  Ready waiting_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace accel::coordinator
