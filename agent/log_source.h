// One stream of one rank's output, cut into the chunks that a relay sends to a reader.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/core/line_filter.h"
#include "logs/log_reader.h"
#include "proto/node.pb.h"
#include "proto/service.pb.h"

namespace accel::agent {

// Not thread-safe. Blocks on the disk.
class LogSource {
 public:
  // Opens the stream at the offset that the reader names. If it names none, searches the start of
  // its selection, and calls `stopping` meanwhile.
  // CANCELLED: `stopping` returned true.
  // INVALID_ARGUMENT: the selection's `grep` is not a regular expression.
  static absl::StatusOr<std::unique_ptr<LogSource>> Open(const std::string& rank_dir,
                                                         v1::LogStream stream,
                                                         const v1::LogReader& asked,
                                                         absl::FunctionRef<bool()> stopping);

  // Returns the next chunk, without the fields that name the reader. Returns nullopt if there is no
  // more output at present.
  std::optional<v1::LogChunk> Next();

  // Returns the last line if it has no end and matches. Next() holds it back, because it may still
  // grow. Called once the stream is complete and Next() has returned nullopt.
  std::optional<v1::LogChunk> Rest();

 private:
  LogSource(const std::string& rank_dir, v1::LogStream stream, int64_t start, bool tells_start,
            std::unique_ptr<LineFilter> filter);
  v1::LogChunk Chunk(std::string data, int64_t next_offset);

  const v1::LogStream stream_;
  logs::LogReader reader_;
  const std::unique_ptr<LineFilter> filter_;  // Null if the selection has no `grep`.
  bool tells_start_;  // The start was computed, so the reader must be told it.
  int64_t sent_;      // The offset at which reading would resume after the last chunk.
};

}  // namespace accel::agent
