// Writes the workers' output to disk from a dedicated thread. A disk that is slow or hangs must not
// delay the shim's other work (docs/decisions/0027).
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "logs/core/log_limits.h"
#include "logs/log_paths.h"

namespace accel::logs {

// One thread makes all calls, and no call blocks. The destructor does not join the writing thread,
// because that thread may be in a system call that never returns. The thread ends once it has
// written everything, or with the process.
class OutputWriter {
 public:
  struct Options {
    size_t max_bytes = 1 << 20;  // room() is kFree while fewer bytes wait, over all streams.
    // Time after which the disk counts as hanging if a write has not returned.
    absl::Duration write_timeout = absl::Seconds(5);
  };

  OutputWriter();  // Uses the default options.
  explicit OutputWriter(Options options);
  ~OutputWriter();
  OutputWriter(const OutputWriter&) = delete;

  // Adds a stream and returns its number. `rank_dir` must exist, and `spill_dir` too
  // unless it is empty.
  int Open(std::string rank_dir, LogStream stream, LogLimits limits, std::string spill_dir = "");

  // Returns what the caller must do with more output: Add() it, wait until wake_fd() is readable,
  // or Drop() it. Output is dropped while the disk hangs, because the disk must not block a worker.
  enum class Room { kFree, kWait, kDrop };
  Room room();
  void Add(int stream, absl::string_view bytes);
  void Drop(int stream, size_t size);
  // Marks the end of the stream. Afterwards the stream's number is valid only for
  // Handled() and Finished().
  void Close(int stream);

  // Returns the number of bytes added to an open stream, dropped bytes included.
  int64_t received(int stream) const;
  // Returns true if each of the stream's first `size` bytes was passed to its StreamWriter, which
  // may hold back a bar's state, or was counted as dropped. Also returns true while the disk hangs,
  // because no caller may wait for the disk.
  bool Handled(int stream, int64_t size);
  // Returns Handled() for all bytes of a closed stream, and for the file that marks its
  // end on disk.
  bool Finished(int stream) { return Handled(stream, std::numeric_limits<int64_t>::max()); }

  // Readable after progress, if room() returned kWait or Handled() returned false. The caller must
  // then call Clear().
  int wake_fd() const;
  void Clear();
  // Returns when a waiting caller must ask again, because the disk then counts as hanging.
  // InfiniteFuture if no caller waits or no write is in progress. A time that has passed is
  // returned only once.
  absl::Time WakeAt();

  // Returns the number of bytes that were added but not yet passed to a StreamWriter.
  size_t unwritten() const;

 private:
  struct Shared;

  static void Run(const std::shared_ptr<Shared>& shared);

  const std::shared_ptr<Shared> shared_;  // Shared with the thread.
};

}  // namespace accel::logs
