// The connection between the agents that relay the output of a job's ranks and the client that
// reads it. A relay may send its next chunk only when the client has taken the last one. A slow
// client therefore costs the memory of one chunk for each rank. It delays only the relays, not the
// workers, because workers write to files.
//
// The pipe knows how far each rank has been read. A relay that breaks is replaced by another relay,
// under a new id, that resumes exactly at that offset.
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
  using Ready = absl::AnyInvocable<void(std::optional<v1::LogChunk>, absl::Status)>;
  // Receives true if the client has taken the chunk, or false if the relay must stop.
  using Taken = absl::AnyInvocable<void(bool)>;

  // Maximum size of the output in one chunk.
  static constexpr size_t kMaxChunkBytes = 64 << 10;

  // For the coordinator, which calls it exactly once: names the relays of the reading. Before this
  // call, no relay can be opened, and Pull() waits. The reading ends when all relays have finished.
  void Expect(const std::vector<v1::LogReader>& relays);
  // For the coordinator: replaces a relay by one with the id `new_id`, which resumes after the
  // chunks that the client has pulled. A chunk that the client has not pulled is dropped, and
  // further chunks under the old id are refused. Returns the reader of the new relay. nullopt if
  // the relay has finished or is unknown, or the reading has ended.
  std::optional<v1::LogReader> Resume(const std::string& reader_id, const std::string& new_id);
  // For the coordinator: sends the client a chunk with `notice`. Does nothing if the relay has
  // finished, or if many chunks already wait for the client.
  void Notify(const std::string& reader_id, const std::string& notice);
  // For the coordinator: finishes a relay. If the relay has not sent a chunk with `end`, the client
  // gets a last chunk for the rank with `why` as its error.
  void Close(const std::string& reader_id, const std::string& why);
  // Ends the reading with `status` and drops the chunks that the client has not pulled. Only the
  // first call has an effect.
  void Fail(absl::Status status);

  // For the client: calls `ready` with the next chunk or the end. Only one call may be pending
  // at a time.
  void Pull(Ready ready);
  // For the client: notes that it has disconnected.
  void Cancel() { Fail(absl::CancelledError("the reader has gone")); }

  // For a relay: opens the relay. Returns false if no relay with this id is expected, or if it
  // was opened before.
  bool Open(const std::string& reader_id);
  // For a relay: sends a chunk. Only one call of each relay may be pending at a time. A chunk with
  // `end` is the relay's last. The rank and generation of the chunk are set to those of the reader,
  // because the agent's own values are not trusted. A chunk with an offset that was read already is
  // refused, because its lines would be repeated.
  void Push(v1::LogChunk chunk, Taken taken);

 private:
  struct Relay {
    v1::LogReader reader;  // With the offsets at which the relay would resume.
    bool open = false;
  };
  struct Entry {
    v1::LogChunk chunk;
    Taken taken;
    // The offset at which the relay would have resumed before this chunk. nullopt if it would have
    // started at the beginning of the selection.
    std::optional<int64_t> before;
  };

  // Sends a chunk to the client. Refuses it if its relay is unknown. If `must_be_open` is set, also
  // refuses it if the relay is not open.
  void Send(Entry entry, bool must_be_open);
  static void Deliver(Ready ready, Entry entry);
  bool Over() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return end_.has_value() || (expecting_ && relays_.empty());
  }

  absl::Mutex mutex_;
  bool expecting_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<std::string, Relay> relays_ ABSL_GUARDED_BY(mutex_);  // Unfinished ones, by reader id.
  std::deque<Entry> entries_ ABSL_GUARDED_BY(mutex_);
  std::optional<absl::Status> end_ ABSL_GUARDED_BY(mutex_);
  Ready waiting_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace accel::coordinator
