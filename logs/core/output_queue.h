// Output on its way from the workers' pipes to the disk: of all streams of a shim together, in a
// bounded amount of memory, each stream's bytes in their order. Pure: no thread, no file.
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
  // Has room while fewer than `most_bytes` wait or are being written.
  explicit OutputQueue(size_t most_bytes) : most_bytes_(most_bytes) {}

  // A new stream; its number, which no other stream will have.
  int Open();

  bool has_room() const { return bytes_ < most_bytes_; }

  // The stream must be open. Add() may pass the bound by one piece, if there was room before it.
  void Add(int stream, absl::string_view bytes);
  // In place of Add(), for bytes that are not kept. What comes after them is dropped too until the
  // stream's next batch is taken.
  void Drop(int stream, int64_t size);
  // Nothing more will come.
  void Close(int stream);

  struct Batch {
    int stream = 0;
    std::string bytes;
    int64_t dropped = 0;  // Behind these bytes.
    bool last = false;    // The stream ends here.
  };
  // All that waits of one stream; the streams take turns. Nothing if none waits.
  std::optional<Batch> Take();
  // The batch that was taken last has been written. Before the next Take().
  void Done(Batch batch);

  // What has come in of a stream, dropped bytes included.
  int64_t received(int stream) const;
  // Whether the first `size` bytes of it have been written or dropped.
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

  const size_t most_bytes_;
  size_t bytes_ = 0;
  int next_stream_ = 0;
  std::map<int, Stream> streams_;  // A stream is gone once its last batch is done.
  std::deque<int> turns_;          // Those that have something to take.
  std::string spare_;              // A batch's memory, for the next one.
};

}  // namespace accel::logs
