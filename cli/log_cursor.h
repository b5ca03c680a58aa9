// How far the output of one generation has been read, so that reading can resume after the
// connection to the coordinator broke: no line is lost, and none comes twice. Pure.
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
  // `request` is the first request, of a generation with this number of ranks.
  LogCursor(v1::ReadLogsRequest request, int world_size);

  // Notes a chunk that has arrived.
  void Note(const v1::LogChunk& chunk);

  // Returns the request for what has not arrived yet.
  v1::ReadLogsRequest Rest() const;
  // Returns true if every wanted rank has ended, so that there is no rest.
  bool at_end() const { return !fresh_ && unfinished_.empty(); }

 private:
  const v1::ReadLogsRequest request_;
  bool fresh_ = true;         // No chunk has arrived.
  std::set<int> unfinished_;  // The wanted ranks that have not ended.
  std::map<std::pair<int, v1::LogStream>, int64_t> positions_;
};

}  // namespace accel::cli
