#include "cli/output_relay.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>
#include <vector>

#include "logs/log_paths.h"

namespace accel::cli {
namespace {

constexpr size_t kTakeBytes = 256 << 10;

// Writes `bytes`, and removes from it what was written. Returns 0 if that was all, else an errno.
int WriteWhole(int fd, absl::string_view* bytes) {
  while (!bytes->empty()) {
    const ssize_t written = write(fd, bytes->data(), bytes->size());
    if (written >= 0) {
      bytes->remove_prefix(written);
    } else if (errno == EAGAIN) {
      // Another program that shares the terminal or pipe has made it non-blocking.
      pollfd room = {fd, POLLOUT, 0};
      poll(&room, 1, -1);
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

}  // namespace

OutputRelay::OutputRelay(std::string job_dir, bool prefix, std::string spill_dir)
    : job_dir_(std::move(job_dir)),
      prefix_(prefix),
      spill_dir_(std::move(spill_dir)),
      thread_([this] { Run(); }) {}

OutputRelay::~OutputRelay() {
  if (thread_.joinable()) Drain(0);
}

void OutputRelay::Update(int ended) {
  absl::MutexLock lock(&mutex_);
  ended_ = std::max(ended_, ended);
  wake_.Wake();
}

void OutputRelay::Drain(int ended) {
  {
    absl::MutexLock lock(&mutex_);
    ended_ = std::max(ended_, ended);
    draining_ = true;
  }
  wake_.Wake();
  thread_.join();
}

void OutputRelay::Run() {
  for (int generation = 1; !IsLast(generation - 1); ++generation) RunGeneration(generation);
}

void OutputRelay::RunGeneration(int generation) {
  const std::string dir = logs::GenerationLogDir(job_dir_, generation);
  const std::string spill =
      spill_dir_.empty() ? "" : logs::GenerationLogDir(spill_dir_, generation);
  std::unique_ptr<logs::LogFollower> follower;
  LineRelay for_out({.prefix = prefix_, .terminal = isatty(STDOUT_FILENO) == 1});
  LineRelay for_err({.prefix = prefix_, .terminal = isatty(STDERR_FILENO) == 1});
  // If both streams go to one terminal, they share a relay, because each must know whether the
  // other has left a bar on the line.
  LineRelay* const out = &for_out;
  LineRelay* const err = isatty(STDOUT_FILENO) && isatty(STDERR_FILENO) ? &for_out : &for_err;
  while (true) {
    // Must be read before the follower: the output of a generation that had ended by then
    // is on disk.
    const bool ended = Ended(generation);
    if (follower == nullptr) {
      if (auto opened = logs::LogFollower::Open(dir, spill); opened.ok())
        follower = *std::move(opened);
    }
    if (follower != nullptr) {
      if (const std::vector<logs::LogPiece> pieces = follower->Take(kTakeBytes); !pieces.empty()) {
        Write(pieces, out, err);
        continue;
      }
    }
    if (ended) break;
    Wait(follower.get());
  }
  WriteAll(STDOUT_FILENO, for_out.Flush());
  WriteAll(STDERR_FILENO, for_err.Flush());
}

void OutputRelay::Write(const std::vector<logs::LogPiece>& pieces, LineRelay* out, LineRelay* err) {
  for (const logs::LogPiece& piece : pieces) {
    const bool is_out = piece.stream == logs::LogStream::kStdout;
    const int fd = is_out ? STDOUT_FILENO : STDERR_FILENO;
    WriteAll(fd, (is_out ? out : err)->Add(piece.rank, fd, piece.gap, piece.bytes));
  }
}

// Output that cannot be written is lost and counted. The next bytes are tried again, because the
// disk may have room by then. The job's log files are not affected.
void OutputRelay::WriteAll(int fd, absl::string_view bytes) {
  const int error = WriteWhole(fd, &bytes);
  if (error == 0) return;
  absl::MutexLock lock(&mutex_);
  OutputLoss& loss = fd == STDOUT_FILENO ? out_loss_ : err_loss_;
  if (loss.error == 0) loss.error = error;
  loss.bytes += static_cast<int64_t>(bytes.size());
  loss_.Wake();
}

OutputLoss OutputRelay::loss(int fd) {
  absl::MutexLock lock(&mutex_);
  return fd == STDOUT_FILENO ? out_loss_ : err_loss_;
}

void OutputRelay::Wait(const logs::LogFollower* follower) {
  pollfd fds[] = {{wake_.get(), POLLIN, 0}, {follower == nullptr ? -1 : follower->fd(), POLLIN, 0}};
  poll(fds, 2, -1);
  if (fds[0].revents != 0) wake_.Clear();
}

bool OutputRelay::Ended(int generation) {
  absl::MutexLock lock(&mutex_);
  return generation <= ended_ || draining_;
}

bool OutputRelay::IsLast(int generation) {
  absl::MutexLock lock(&mutex_);
  return draining_ && generation >= ended_;
}

}  // namespace accel::cli
