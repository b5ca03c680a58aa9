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

// Used by one thread, which is never made to wait. The writing thread is waited for by nobody: it
// may be inside a system call that does not return, and ends with the process or when it has
// written all.
class OutputWriter {
 public:
  struct Options {
    size_t most_bytes = 256 << 10;  // That wait in memory, of all streams.
    // How long one write may take before the disk counts as hanging.
    absl::Duration patience = absl::Seconds(5);
  };

  OutputWriter();  // With the defaults.
  explicit OutputWriter(Options options);
  ~OutputWriter();
  OutputWriter(const OutputWriter&) = delete;

  // A new stream, in a folder that is there (and one for what that refuses); its number.
  int Open(std::string rank_dir, LogStream stream, LogLimits limits, std::string spill_dir = "");

  // What to do with more output: add it; wait until wake_fd() says that there may be room; or drop
  // it, since the disk hangs and no worker is to wait for that.
  enum class Room { kFree, kWait, kDrop };
  Room room();
  void Add(int stream, absl::string_view bytes);
  void Drop(int stream, size_t size);
  // Nothing more will come; the stream's number means nothing from here on but to Handled().
  void Close(int stream);

  // What has come in of an open stream, dropped bytes included.
  int64_t received(int stream) const;
  // Whether the first `size` bytes of a stream are on disk, or counted as dropped there. While the
  // disk hangs: true, because nobody is to wait for that either.
  bool Handled(int stream, int64_t size);
  // The same of all of a closed stream, and of what tells its end on disk.
  bool Finished(int stream) { return Handled(stream, std::numeric_limits<int64_t>::max()); }

  // Readable after progress, if room() or Handled() has said that it takes some. Clear() it then.
  int wake_fd() const;
  void Clear();
  // When whoever was told to wait is to ask again, because the write that is under way then becomes
  // a disk that hangs; never, if nobody waits. A moment that has passed is told once.
  absl::Time WakeAt();

  // Bytes that have come in and are not on disk.
  size_t unwritten() const;

 private:
  struct Shared;

  static void Run(const std::shared_ptr<Shared>& shared);

  const std::shared_ptr<Shared> shared_;  // With the thread.
};

}  // namespace accel::logs
