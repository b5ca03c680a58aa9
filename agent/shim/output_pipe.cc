#include "agent/shim/output_pipe.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/status/status.h"

namespace accel {
namespace {

// Shared by all pipes: the shim has one thread, and nothing stays in here between two calls.
char buffer[64 << 10];

}  // namespace

OutputPipe::OutputPipe(std::string rank_dir, LogStream stream, LogLimits limits)
    : writer_(std::move(rank_dir), stream, limits) {}

absl::StatusOr<UniqueFd> OutputPipe::Open() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return absl::ErrnoToStatus(errno, "Cannot make a pipe for a worker's output");
  }
  pipe_.reset(ends[0]);
  fcntl(pipe_.get(), F_SETFL, O_NONBLOCK);
  fcntl(pipe_.get(), F_SETPIPE_SZ, static_cast<int>(kPipeBytes));  // As far as the system allows.
  return UniqueFd(ends[1]);
}

bool OutputPipe::Drain(size_t most) {
  while (most > 0 && pipe_.valid()) {
    const ssize_t size = read(pipe_.get(), buffer, std::min(sizeof(buffer), most));
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return true;
    if (size == 0) return false;
    writer_.Write(absl::string_view(buffer, static_cast<size_t>(size)));
    most -= static_cast<size_t>(size);
  }
  return pipe_.valid();
}

void OutputPipe::Close() {
  if (!pipe_.valid()) return;
  Drain(kPipeBytes);
  pipe_.reset();
  writer_.Finish();
}

}  // namespace accel
