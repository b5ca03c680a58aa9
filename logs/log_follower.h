// Follows the output of all ranks of one generation together, for `accel launch`.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/unique_fd.h"
#include "logs/log_paths.h"
#include "logs/log_reader.h"

namespace accel::logs {

struct LogPiece {
  int rank = 0;
  LogStream stream = LogStream::kStdout;
  int64_t gap = 0;     // Bytes of the stream that were dropped before this piece.
  int64_t offset = 0;  // Position of the first byte in the stream.
  std::string bytes;   // Empty only if the piece reports nothing but a gap.
};

// Not thread-safe. Usage:
//
//   auto follower = LogFollower::Open(log_dir);
//   while (...) { wait until fd() is readable; while (auto pieces = Take(n); !pieces.empty()) ... }
class LogFollower {
 public:
  // Opens the output in `log_dir`. Ranks whose folders appear later are followed too. If
  // `spill_dir` is not empty, it has the segments that `log_dir` could not take. A rank's folder in
  // it must be made before its folder in `log_dir`. For the time `timed` a timer wakes the reader,
  // and then inotify, because the kernel takes some 10 ms to close inotify, which would be half of
  // a short launch. NOT_FOUND: `log_dir` does not exist (yet). Other errors: the kernel grants no
  // timer.
  static absl::StatusOr<std::unique_ptr<LogFollower>> Open(const std::string& log_dir,
                                                           const std::string& spill_dir = "",
                                                           absl::Duration timed = absl::Seconds(1));

  // Returns a descriptor that is readable when there may be output to take. Take() may replace the
  // descriptor by another one. It remains a timer if the kernel grants no inotify instance or too
  // few watches.
  int fd() const { return notice_.get(); }

  // Returns at most `max_bytes` of new output. Takes pieces of at most 64 KiB from all streams in
  // turn. Only an empty result means that everything has been read.
  std::vector<LogPiece> Take(size_t max_bytes);

 private:
  struct Stream {
    int rank = 0;
    LogStream stream = LogStream::kStdout;
    LogReader reader;
    bool may_have_more = true;
  };

  LogFollower(std::string log_dir, std::string spill_dir, absl::Time watch_at)
      : log_dir_(std::move(log_dir)), spill_dir_(std::move(spill_dir)), watch_at_(watch_at) {}
  absl::Status StartTimer(absl::Duration pace);
  void Watch();
  std::string SpillDirOf(int rank) const;
  void AddRanks();
  bool WatchRank(int rank);
  bool WatchFolder(const std::string& folder, int rank);
  void TakeNotice();
  void MarkRank(int rank);

  const std::string log_dir_;
  const std::string spill_dir_;
  common::UniqueFd notice_;
  bool is_timed_ = true;              // notice_ is a timer instead of inotify.
  absl::Time watch_at_;               // When inotify is tried. Infinite after that.
  std::map<int, int> rank_of_watch_;  // Keyed by inotify's watch descriptor.
  std::set<int> ranks_;
  std::vector<Stream> streams_;
  size_t next_stream_ = 0;
};

}  // namespace accel::logs
