// The positions up to which the output of one generation was read. After the connection to the
// coordinator broke, reading resumes there, so that no line is lost or repeated. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "proto/service.pb.h"

namespace accel::cli {

// Not thread-safe.
class LogCursor {
 public:
  // `request` is the first request. `world_size` is the number of ranks of the generation.
  LogCursor(v1::ReadLogsRequest request, int world_size);

  // Notes a chunk that has arrived.
  void Note(const v1::LogChunk& chunk);

  // Returns the request for the output that has not arrived yet.
  v1::ReadLogsRequest Rest() const;
  // Returns true if the output of every wanted rank has ended, so that nothing remains to be read.
  bool at_end() const { return !fresh_ && unfinished_.empty(); }

 private:
  const v1::ReadLogsRequest request_;
  bool fresh_ = true;         // No chunk has arrived.
  std::set<int> unfinished_;  // The wanted ranks that have not ended.
  std::map<std::pair<int, v1::LogStream>, int64_t> positions_;
};

}  // namespace accel::cli
