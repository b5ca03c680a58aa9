#include "logs/stream_writer.h"

#include <utility>

namespace accel::logs {

StreamWriter::StreamWriter(std::string rank_dir, LogStream stream, LogLimits limits,
                           std::string spill_dir)
    : collapse_bars_(limits.collapse_bars),
      segments_(std::move(rank_dir), stream, limits, std::move(spill_dir)) {}

void StreamWriter::Write(absl::string_view bytes, absl::Time now) {
  segments_.Write(collapse_bars_ ? bars_.Add(bytes, now) : bytes);
}

void StreamWriter::Drop(int64_t size, absl::Time now) {
  Flush(now);
  segments_.Drop(size);
}

void StreamWriter::Finish(absl::Time now) {
  Flush(now);
  segments_.Finish();
}

void StreamWriter::Flush(absl::Time now) { segments_.Write(bars_.Flush(now)); }

}  // namespace accel::logs
