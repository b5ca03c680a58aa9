#include "logs/log_follower.h"

#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/status_macros.h"

namespace accel::logs {
namespace {

constexpr size_t kPieceBytes = 64 << 10;
constexpr long kPollNanoseconds = 50'000'000;

}  // namespace

absl::StatusOr<std::unique_ptr<LogFollower>> LogFollower::Open(const std::string& log_dir,
                                                               const std::string& spill_dir) {
  struct stat info;
  if (stat(log_dir.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) {
    return absl::NotFoundError(absl::StrCat("There is no log folder ", log_dir, "."));
  }
  std::unique_ptr<LogFollower> follower(new LogFollower(log_dir, spill_dir));
  ACCEL_RETURN_IF_ERROR(follower->Watch());
  follower->AddRanks();
  if (!follower->watches_all_ranks_ && !follower->polls_) ACCEL_RETURN_IF_ERROR(follower->Poll());
  return follower;
}

absl::Status LogFollower::Watch() {
  notice_.reset(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (notice_.valid() &&
      inotify_add_watch(notice_.get(), log_dir_.c_str(), IN_CREATE | IN_MOVED_TO) >= 0) {
    return absl::OkStatus();
  }
  return Poll();
}

absl::Status LogFollower::Poll() {
  common::UniqueFd timer(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  const itimerspec every = {{0, kPollNanoseconds}, {0, kPollNanoseconds}};
  if (!timer.valid() || timerfd_settime(timer.get(), 0, &every, nullptr) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("Cannot watch the log folder ", log_dir_));
  }
  polls_ = true;
  notice_ = std::move(timer);
  return absl::OkStatus();
}

void LogFollower::AddRanks() {
  for (int rank : ListRanks(log_dir_)) {
    if (!ranks_.insert(rank).second) continue;
    const std::string rank_dir = RankLogDir(log_dir_, rank);
    const std::string spill_dir = spill_dir_.empty() ? "" : RankLogDir(spill_dir_, rank);
    watches_all_ranks_ &= WatchFolder(rank_dir, rank);
    // The folder does not exist if spill_dir_ is empty, or if the shim could not make it.
    if (access(spill_dir.c_str(), F_OK) == 0) watches_all_ranks_ &= WatchFolder(spill_dir, rank);
    for (LogStream stream : {LogStream::kStdout, LogStream::kStderr}) {
      streams_.push_back({rank, stream, LogReader(rank_dir, stream, 0, spill_dir)});
    }
  }
}

bool LogFollower::WatchFolder(const std::string& folder, int rank) {
  if (polls_) return false;
  const int watch = inotify_add_watch(notice_.get(), folder.c_str(), IN_CREATE | IN_MODIFY);
  if (watch < 0) return false;  // The user's limit of inotify watches is reached.
  rank_of_watch_[watch] = rank;
  return true;
}

void LogFollower::MarkRank(int rank) {
  for (Stream& stream : streams_) stream.may_have_more |= stream.rank == rank;
}

void LogFollower::TakeNotice() {
  alignas(inotify_event) char buffer[16 << 10];
  ssize_t size = 0;
  bool something = false;
  bool everything = polls_;
  while ((size = read(notice_.get(), buffer, sizeof(buffer))) > 0) {
    something = true;
    for (ssize_t at = 0; !polls_ && at < size;) {
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
  if (!something || !everything) return;
  AddRanks();
  if (!watches_all_ranks_ && !polls_) Poll().IgnoreError();
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
