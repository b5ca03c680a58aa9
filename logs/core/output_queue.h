// The output of all workers of a shim between their pipes and the disk. Bounds the memory for all
// streams together, and keeps each stream's bytes in order. Pure: no thread, no file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace accel::logs {

// Not thread-safe.
class OutputQueue {
 public:
  // The queue has room while fewer than `max_bytes` are waiting or being written.
  explicit OutputQueue(size_t max_bytes) : max_bytes_(max_bytes) {}

  // Adds a stream and returns its number. Numbers are not reused.
  int Open();

  bool has_room() const { return bytes_ < max_bytes_; }

  // Adds bytes to an open stream. Called only if has_room(). The bytes may exceed the bound.
  void Add(int stream, absl::string_view bytes);
  // Counts `size` bytes that are dropped instead of added. Further bytes of the stream are dropped
  // too until its next batch is taken, because a batch can have a gap only at its end.
  void Drop(int stream, int64_t size);
  // Marks the end of the stream: no more bytes will be added.
  void Close(int stream);

  struct Batch {
    int stream = 0;
    std::string bytes;
    int64_t dropped = 0;  // Number of bytes dropped after `bytes`.
    bool last = false;    // The stream ends with this batch.
  };
  // Returns all waiting bytes of one stream. Successive calls return the streams in turn. Returns
  // nullopt if no stream has anything waiting.
  std::optional<Batch> Take();
  // Notes that the last taken batch has been written. Must be called before the next Take().
  void Done(Batch batch);

  // Returns the number of bytes added to the stream, dropped bytes included.
  int64_t received(int stream) const;
  // Returns true if the stream's first `size` bytes have been written or dropped.
  bool Handled(int stream, int64_t size) const;
  size_t bytes() const { return bytes_; }

 private:
  struct Stream {
    Batch waiting;
    int64_t received = 0;
    int64_t handled = 0;
    bool in_turn = false;
  };

  void TakeTurn(int id, Stream* stream);

  const size_t max_bytes_;
  size_t bytes_ = 0;
  int next_stream_ = 0;
  std::map<int, Stream> streams_;  // A stream is erased once its last batch is done.
  std::deque<int> turns_;          // The streams with a batch to take.
  std::string spare_;              // The memory of a finished batch, reused for the next one.
};

}  // namespace accel::logs
