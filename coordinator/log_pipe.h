// The connection between the agents that relay the output of a job's ranks and the client that
// reads it. A relay gets the permission to send its next chunk only when the client has taken the
// last one. So a slow client costs the memory of one chunk for each rank. It delays only the
// relays, not the workers, because workers write to files.
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
  // Receives a chunk, or else nullopt and the status with which the reading ends. The status is OK
  // if every relay has sent its last chunk.
  using OnPulled = absl::AnyInvocable<void(std::optional<v1::LogChunk>, absl::Status)>;
  // Receives true if the client has taken the chunk, or false if the relay must stop.
  using OnPushed = absl::AnyInvocable<void(bool)>;

  // Maximum size of the output in one chunk.
  static constexpr size_t kMaxChunkBytes = 64 << 10;

  // For the coordinator: adds the relays of the reading, once. The reading ends once all of them
  // have finished. Until this call no relay can be opened and Pull() waits.
  void Expect(const std::vector<v1::LogReader>& relays);
  // Ends the reading with `status` and drops the chunks that were not yet pulled. Only the first
  // call has an effect.
  void Fail(absl::Status status);

  // For the client: calls `on_pulled` with the next chunk or the end. Only one call may be pending
  // at a time.
  void Pull(OnPulled on_pulled);
  // For the client: notes that it has disconnected.
  void Cancel() { Fail(absl::CancelledError("the reader has gone")); }

  // For a relay: opens it. Returns false if the relay is not expected or was opened before.
  bool Open(const std::string& reader_id);
  // For a relay: sends a chunk. Only one call of each relay may be pending at a time. A chunk with
  // `end` is the relay's last. Its rank and generation are set to those that this relay was asked
  // for, because the agent's own values are not trusted.
  void Push(v1::LogChunk chunk, OnPushed on_pushed);
  // Notes that the relay's stream is gone. If it has not sent `end`, the client gets a last chunk
  // of this rank with `why` as its error.
  void Close(const std::string& reader_id, const std::string& why);

 private:
  struct Entry {
    v1::LogChunk chunk;
    OnPushed on_pushed;
  };
  void Deliver(OnPulled on_pulled, Entry entry);
  bool Over() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return end_.has_value() || (expecting_ && open_.empty() && unopened_.empty());
  }

  absl::Mutex mutex_;
  bool expecting_ ABSL_GUARDED_BY(mutex_) = false;
  // The relays by reader id: those not yet opened, and those that are open.
  std::map<std::string, v1::LogReader> unopened_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, v1::LogReader> open_ ABSL_GUARDED_BY(mutex_);
  std::deque<Entry> entries_ ABSL_GUARDED_BY(mutex_);
  std::optional<absl::Status> end_ ABSL_GUARDED_BY(mutex_);
  OnPulled waiting_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace accel::coordinator
