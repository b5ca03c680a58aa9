#include "cli/log_cursor.h"

#include <algorithm>

namespace accel::cli {

LogCursor::LogCursor(v1::ReadLogsRequest request, int world_size) : request_(std::move(request)) {
  for (const v1::RankRange& range : request_.ranks()) {
    const int last = std::min(range.last(), world_size - 1);
    for (int rank = range.first(); rank <= last; ++rank) unfinished_.insert(rank);
  }
  for (int rank = 0; request_.ranks().empty() && rank < world_size; ++rank) {
    unfinished_.insert(rank);
  }
}

void LogCursor::Note(const v1::LogChunk& chunk) {
  fresh_ = false;
  if (chunk.stream() != v1::LOG_STREAM_UNSPECIFIED) {
    positions_[{chunk.rank(), chunk.stream()}] =
        std::max(chunk.next_offset(), chunk.offset() + static_cast<int64_t>(chunk.data().size()));
  }
  if (chunk.end()) unfinished_.erase(chunk.rank());
}

v1::ReadLogsRequest LogCursor::Rest() const {
  v1::ReadLogsRequest rest = request_;
  if (fresh_) return rest;
  rest.clear_ranks();
  for (const int rank : unfinished_) {
    if (!rest.ranks().empty() && rest.ranks().rbegin()->last() == rank - 1) {
      rest.mutable_ranks()->rbegin()->set_last(rank);
      continue;
    }
    v1::RankRange* range = rest.add_ranks();
    range->set_first(rank);
    range->set_last(rank);
  }
  for (const auto& [stream, offset] : positions_) {
    if (unfinished_.count(stream.first) == 0) continue;
    v1::LogPosition* position = rest.add_positions();
    position->set_rank(stream.first);
    position->set_stream(stream.second);
    position->set_offset(offset);
  }
  return rest;
}

}  // namespace accel::cli
