#include "shim/output_pipe.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "logs/log_paths.h"

namespace accel::shim {
namespace {

// Shared by all pipes, because one thread drains all of them, and no bytes remain in the buffer
// between two calls.
char buffer[64 << 10];

// The last bytes of a stream that are kept: those that a failure quotes (tail_lines.h), and the
// ends of its lines.
constexpr size_t kLastBytes = 4096 + 40;

}  // namespace

OutputPipe::OutputPipe(logs::OutputWriter* writer, const StartCommand& start, int rank,
                       logs::LogStream stream)
    : writer_(writer), start_(start), rank_(rank), stream_(stream), last_bytes_(kLastBytes) {}

absl::StatusOr<common::UniqueFd> OutputPipe::Open() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return absl::ErrnoToStatus(errno, "Cannot make a pipe for a worker's output");
  }
  pipe_.reset(ends[0]);
  const std::string& spill_dir = start_.spill_dir;
  logs::LogLimits limits = start_.log_limits;
  // Only `accel launch` sets a spill folder. It does not collapse progress bars, because it shows
  // the output unchanged and then deletes it (docs/decisions/0036).
  limits.collapse_bars = spill_dir.empty();
  number_ = writer_->Open(logs::RankLogDir(start_.log_dir, rank_), stream_, limits,
                          spill_dir.empty() ? "" : logs::RankLogDir(spill_dir, rank_));
  fcntl(pipe_.get(), F_SETFL, O_NONBLOCK);
  // Best effort: the system may limit the size of pipes.
  fcntl(pipe_.get(), F_SETPIPE_SZ, static_cast<int>(kPipeBytes));
  return common::UniqueFd(ends[1]);
}

OutputPipe::Progress OutputPipe::Drain(size_t* most) {
  if (!pipe_.valid()) return Progress::kEnd;
  while (*most > 0) {
    const logs::OutputWriter::Room room = writer_->room();
    if (room == logs::OutputWriter::Room::kWait) return Progress::kNoRoom;
    const ssize_t size = read(pipe_.get(), buffer, std::min(sizeof(buffer), *most));
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return Progress::kEmpty;
    if (size == 0) return Progress::kEnd;
    const absl::string_view bytes(buffer, static_cast<size_t>(size));
    last_bytes_.Add(bytes);
    if (room == logs::OutputWriter::Room::kFree) {
      writer_->Add(number_, bytes);
    } else {
      writer_->Drop(number_, bytes.size());
    }
    *most -= bytes.size();
  }
  return Progress::kMore;
}

bool OutputPipe::TakeRest() {
  if (mark_.has_value()) return true;
  if (pipe_.valid() && Drain(&rest_) == Progress::kNoRoom) return false;
  mark_ = writer_->received(number_);
  return true;
}

bool OutputPipe::Settle() {
  return number_ < 0 || (TakeRest() && writer_->Handled(number_, *mark_));
}

bool OutputPipe::Finish() {
  if (!std::exchange(finishing_, true) && pipe_.valid()) {
    mark_.reset();
    rest_ = kPipeBytes;
  }
  if (number_ < 0) return true;
  if (!TakeRest()) return false;
  Close();
  return writer_->Finished(number_);
}

void OutputPipe::AddLines(absl::string_view lines) {
  if (!pipe_.valid() || writer_->room() != logs::OutputWriter::Room::kFree) return;
  const absl::string_view before = last_bytes_.text();
  if (!before.empty() && before.back() != '\n') writer_->Add(number_, "\n");
  writer_->Add(number_, lines);
}

void OutputPipe::Close() {
  if (!pipe_.valid()) return;
  if (!mark_.has_value()) mark_ = writer_->received(number_);
  pipe_.reset();
  writer_->Close(number_);
}

}  // namespace accel::shim
