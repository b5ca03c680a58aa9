#include "logs/log_follower.h"

#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/clock.h"
#include "common/status_macros.h"

namespace accel::logs {
namespace {

constexpr size_t kPieceBytes = 64 << 10;
constexpr absl::Duration kFirstPace = absl::Milliseconds(10);
constexpr absl::Duration kPaceWithoutInotify = absl::Milliseconds(50);

}  // namespace

absl::StatusOr<std::unique_ptr<LogFollower>> LogFollower::Open(const std::string& log_dir,
                                                               const std::string& spill_dir,
                                                               absl::Duration timed) {
  struct stat info;
  if (stat(log_dir.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) {
    return absl::NotFoundError(absl::StrCat("There is no log folder ", log_dir, "."));
  }
  std::unique_ptr<LogFollower> follower(
      new LogFollower(log_dir, spill_dir, common::SteadyClock()->Now() + timed));
  ACCEL_RETURN_IF_ERROR(follower->StartTimer(kFirstPace));
  return follower;
}

absl::Status LogFollower::StartTimer(absl::Duration pace) {
  common::UniqueFd timer(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  const itimerspec every = {absl::ToTimespec(pace), absl::ToTimespec(pace)};
  if (!timer.valid() || timerfd_settime(timer.get(), 0, &every, nullptr) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("Cannot watch the log folder ", log_dir_));
  }
  is_timed_ = true;
  notice_ = std::move(timer);
  return absl::OkStatus();
}

// Replaces the timer by inotify. If the kernel refuses it, the timer becomes slower.
void LogFollower::Watch() {
  watch_at_ = absl::InfiniteFuture();
  common::UniqueFd inotify(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (inotify.valid() &&
      inotify_add_watch(inotify.get(), log_dir_.c_str(), IN_CREATE | IN_MOVED_TO) >= 0) {
    is_timed_ = false;
    notice_ = std::move(inotify);
    if (std::all_of(ranks_.begin(), ranks_.end(), [this](int rank) { return WatchRank(rank); })) {
      return;
    }
  }
  // On an error the descriptor remains as it is: a faster timer, or incomplete watches.
  StartTimer(kPaceWithoutInotify).IgnoreError();
}

std::string LogFollower::SpillDirOf(int rank) const {
  return spill_dir_.empty() ? "" : RankLogDir(spill_dir_, rank);
}

void LogFollower::AddRanks() {
  bool are_watched = true;
  for (int rank : ListRanks(log_dir_)) {
    if (!ranks_.insert(rank).second) continue;
    if (!is_timed_) are_watched &= WatchRank(rank);
    for (LogStream stream : {LogStream::kStdout, LogStream::kStderr}) {
      streams_.push_back(
          {rank, stream, LogReader(RankLogDir(log_dir_, rank), stream, 0, SpillDirOf(rank))});
    }
  }
  if (!are_watched) StartTimer(kPaceWithoutInotify).IgnoreError();
}

// Returns false if the user's limit of inotify watches is reached.
bool LogFollower::WatchRank(int rank) {
  if (!WatchFolder(RankLogDir(log_dir_, rank), rank)) return false;
  const std::string spill_dir = SpillDirOf(rank);
  // The folder does not exist if spill_dir_ is empty, or if the shim could not make it.
  return access(spill_dir.c_str(), F_OK) != 0 || WatchFolder(spill_dir, rank);
}

bool LogFollower::WatchFolder(const std::string& folder, int rank) {
  const int watch = inotify_add_watch(notice_.get(), folder.c_str(), IN_CREATE | IN_MODIFY);
  if (watch < 0) return false;
  rank_of_watch_[watch] = rank;
  return true;
}

void LogFollower::MarkRank(int rank) {
  for (Stream& stream : streams_) stream.may_have_more |= stream.rank == rank;
}

void LogFollower::TakeNotice() {
  // With a timer, everything may have new output, also between two ticks: a launch looks once more
  // when its job has ended.
  bool everything = is_timed_;
  if (is_timed_ && common::SteadyClock()->Now() >= watch_at_) Watch();
  alignas(inotify_event) char buffer[16 << 10];
  ssize_t size = 0;
  while ((size = read(notice_.get(), buffer, sizeof(buffer))) > 0) {
    for (ssize_t at = 0; !is_timed_ && at < size;) {
      const auto* event = reinterpret_cast<const inotify_event*>(buffer + at);
      const auto rank = rank_of_watch_.find(event->wd);
      if (rank != rank_of_watch_.end()) {
        MarkRank(rank->second);
      } else {
        everything = true;  // A new rank's folder, or an overflow of the kernel's event queue.
      }
      at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
    }
  }
  if (!everything) return;
  AddRanks();
  for (Stream& stream : streams_) stream.may_have_more = true;
}

std::vector<LogPiece> LogFollower::Take(size_t max_bytes) {
  TakeNotice();
  std::vector<LogPiece> pieces;
  size_t taken = 0;
  for (size_t idle = 0; idle < streams_.size() && taken < max_bytes; ++next_stream_) {
    Stream& stream = streams_[next_stream_ % streams_.size()];
    ++idle;
    if (!stream.may_have_more) continue;
    LogPiece piece = {stream.rank, stream.stream, 0, 0, ""};
    piece.bytes.resize(std::min(kPieceBytes, max_bytes - taken));
    const LogReader::Piece read = stream.reader.Read(piece.bytes.data(), piece.bytes.size());
    stream.may_have_more = read.size > 0 || read.is_cut;
    if (read.size == 0 && read.gap == 0) continue;
    piece.gap = read.gap;
    piece.offset = read.offset;
    piece.bytes.resize(read.size);
    taken += read.size;
    pieces.push_back(std::move(piece));
    idle = 0;
  }
  return pieces;
}

}  // namespace accel::logs
