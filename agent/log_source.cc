#include "agent/log_source.h"

#include <utility>

#include "common/status_macros.h"
#include "logs/log_tail.h"
#include "logs/time_index.h"

namespace accel::agent {
namespace {

// The maximum size of a piece that is read in one call. With a filter, a chunk has the lines of one
// piece, and one line that began before it. The smaller piece keeps such a chunk within 64 KiB.
constexpr size_t kPieceBytes = 64 << 10;
constexpr size_t kFilteredPieceBytes = LineFilter::kMaxLineBytes;
// If no line matches, a chunk with only a position is sent after this many bytes.
constexpr int64_t kPositionBytes = 1 << 20;

logs::LogStream StreamOf(v1::LogStream stream) {
  return stream == v1::STDERR ? logs::LogStream::kStderr : logs::LogStream::kStdout;
}

int64_t FindStart(const std::string& rank_dir, logs::LogStream stream,
                  const v1::LogSelection& selection, const LineFilter* filter,
                  absl::FunctionRef<bool()> stopping) {
  int64_t start = 0;
  if (selection.since_unix_ms() > 0) {
    start = logs::FindSince(rank_dir, stream, selection.since_unix_ms());
  }
  if (!selection.has_tail()) return start;
  const auto matches = [&](absl::string_view line) {
    return filter == nullptr || filter->Matches(line);
  };
  return logs::FindTail(rank_dir, stream, start, selection.tail(), matches, stopping);
}

}  // namespace

absl::StatusOr<std::unique_ptr<LogSource>> LogSource::Open(const std::string& rank_dir,
                                                           v1::LogStream stream,
                                                           const v1::LogReader& asked,
                                                           absl::FunctionRef<bool()> stopping) {
  const v1::LogSelection& selection = asked.selection();
  std::unique_ptr<LineFilter> filter;
  if (!selection.grep().empty()) {
    ACCEL_ASSIGN_OR_RETURN(filter, LineFilter::Make(selection.grep()));
  }
  const bool is_err = stream == v1::STDERR;
  const bool resumes = is_err ? asked.has_stderr_offset() : asked.has_stdout_offset();
  int64_t start = is_err ? asked.stderr_offset() : asked.stdout_offset();
  if (!resumes) start = FindStart(rank_dir, StreamOf(stream), selection, filter.get(), stopping);
  if (stopping()) return absl::CancelledError();
  const bool tells_start = !resumes && (selection.has_tail() || selection.since_unix_ms() > 0);
  return std::unique_ptr<LogSource>(
      new LogSource(rank_dir, stream, start, tells_start, std::move(filter)));
}

LogSource::LogSource(const std::string& rank_dir, v1::LogStream stream, int64_t start,
                     bool tells_start, std::unique_ptr<LineFilter> filter)
    : stream_(stream),
      reader_(rank_dir, StreamOf(stream), start),
      filter_(std::move(filter)),
      tells_start_(tells_start),
      sent_(start) {}

v1::LogChunk LogSource::Chunk(std::string data, int64_t next_offset) {
  v1::LogChunk chunk;
  chunk.set_stream(stream_);
  chunk.set_offset(sent_);
  chunk.set_data(std::move(data));
  chunk.set_next_offset(next_offset);
  sent_ = next_offset;
  return chunk;
}

std::optional<v1::LogChunk> LogSource::Next() {
  if (std::exchange(tells_start_, false)) return Chunk("", sent_);
  std::string data;
  while (true) {
    std::string piece(filter_ == nullptr ? kPieceBytes : kFilteredPieceBytes, '\0');
    const logs::LogReader::Piece read = reader_.Read(piece.data(), piece.size());
    if (read.size == 0 && read.gap == 0) {
      if (!read.is_cut) return std::nullopt;
      // A chunk that may be empty, so that the sender can check whether it must stop.
      return Chunk(std::move(data), sent_);
    }
    piece.resize(read.size);
    if (filter_ == nullptr) {
      sent_ = read.offset;
      v1::LogChunk chunk = Chunk(std::move(piece), reader_.offset());
      chunk.set_gap_bytes(read.gap);
      return chunk;
    }
    if (read.gap > 0) filter_->Flush(&data);
    filter_->Add(piece, &data);
    const int64_t examined = reader_.offset() - static_cast<int64_t>(filter_->held());
    if (data.empty() && read.gap == 0 && examined < sent_ + kPositionBytes) continue;
    v1::LogChunk chunk = Chunk(std::move(data), examined);
    chunk.set_gap_bytes(read.gap);
    return chunk;
  }
}

std::optional<v1::LogChunk> LogSource::Rest() {
  std::string data;
  if (filter_ != nullptr) filter_->Flush(&data);
  if (data.empty()) return std::nullopt;
  return Chunk(std::move(data), reader_.offset());
}

}  // namespace accel::agent
