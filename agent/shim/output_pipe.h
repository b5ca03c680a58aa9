// The pipe that one stream of one worker writes into, and the segments that it ends up in.
#pragma once

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "agent/logs/segment_writer.h"
#include "common/unique_fd.h"

namespace accel {

class OutputPipe {
 public:
  OutputPipe(std::string rank_dir, LogStream stream, LogLimits limits);

  // Makes the pipe; returns the end for the worker, close-on-exec. RESOURCE_EXHAUSTED and the like:
  // no descriptor left.
  absl::StatusOr<UniqueFd> Open();

  // Moves what is in the pipe, at most `most` bytes, into the segments. False at the end of the
  // output: nobody holds the other end any more. Never blocks.
  bool Drain(size_t most);

  // Drains what the pipe can hold, and closes it: whoever still writes into it writes to nobody.
  void Close();

  int fd() const { return pipe_.get(); }  // -1 before Open() and after Close().

 private:
  UniqueFd pipe_;
  SegmentWriter writer_;
};

// A pipe holds at most this much: the bound of what a worker can have left behind in it.
constexpr size_t kPipeBytes = 1 << 20;

}  // namespace accel
