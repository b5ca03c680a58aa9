// Writes the workers' output to disk from a dedicated thread, because a disk that is slow or hangs
// must not delay anything else (docs/decisions/0027).
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

// Used by one thread, and no call blocks. The destructor does not join the writing thread, because
// that may be inside a system call that never returns. The thread ends once it has written
// everything, or with the process.
class OutputWriter {
 public:
  struct Options {
    size_t max_bytes = 1 << 20;  // Maximum number of bytes in memory, over all streams.
    // Time after which an unfinished write counts as a disk that hangs.
    absl::Duration write_timeout = absl::Seconds(5);
  };

  OutputWriter();  // Uses the default options.
  explicit OutputWriter(Options options);
  ~OutputWriter();
  OutputWriter(const OutputWriter&) = delete;

  // Adds a stream and returns its number. `rank_dir` must exist, and `spill_dir` too
  // unless it is empty.
  int Open(std::string rank_dir, LogStream stream, LogLimits limits, std::string spill_dir = "");

  // Tells the caller what to do with more output: add it, wait until wake_fd() is readable, or drop
  // it. Output is dropped while the disk hangs, because no worker may be blocked by the disk.
  enum class Room { kFree, kWait, kDrop };
  Room room();
  void Add(int stream, absl::string_view bytes);
  void Drop(int stream, size_t size);
  // Marks the end of the stream. Afterwards its number is valid only for Handled() and Finished().
  void Close(int stream);

  // Returns the number of bytes added to an open stream, dropped bytes included.
  int64_t received(int stream) const;
  // Returns true if the stream's first `size` bytes are on disk or are counted there as dropped.
  // Also returns true while the disk hangs, because no caller may wait for it.
  bool Handled(int stream, int64_t size);
  // Like Handled(), for all bytes of a closed stream and for the file that marks its end on disk.
  bool Finished(int stream) { return Handled(stream, std::numeric_limits<int64_t>::max()); }

  // Readable after progress, if room() or Handled() has asked the caller to wait.
  // Call Clear() then.
  int wake_fd() const;
  void Clear();
  // Returns when a waiting caller must ask again, because the current write then counts as a disk
  // that hangs. InfiniteFuture if no caller waits or no write is in progress. A time that has
  // passed is returned only once.
  absl::Time WakeAt();

  // Returns the number of bytes that were added and are not on disk yet.
  size_t unwritten() const;

 private:
  struct Shared;

  static void Run(const std::shared_ptr<Shared>& shared);

  const std::shared_ptr<Shared> shared_;  // Shared with the thread.
};

}  // namespace accel::logs
