// The pipe that carries one stream of one worker to the OutputWriter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "common/unique_fd.h"
#include "logs/core/last_bytes.h"
#include "logs/output_writer.h"
#include "shim/core/messages.h"

namespace accel::shim {

// Capacity of a pipe, and so the maximum that a worker can have left in it.
constexpr size_t kPipeBytes = 1 << 20;

// Not thread-safe. No call blocks.
class OutputPipe {
 public:
  // `writer` and `start` must outlive it.
  OutputPipe(logs::OutputWriter* writer, const StartCommand& start, int rank,
             logs::LogStream stream);

  // Makes the pipe and returns the worker's end, close-on-exec. RESOURCE_EXHAUSTED and the like: no
  // descriptor is left.
  absl::StatusOr<common::UniqueFd> Open();

  enum class Progress {
    kEmpty,   // The pipe is empty for now.
    kMore,    // `*most` bytes have been moved.
    kNoRoom,  // The writer has no room. Try again once it has made progress.
    kEnd,     // No process has the other end open any more.
  };
  // Moves bytes from the pipe to the writer, at most `*most`, and lowers `*most` by their number.
  Progress Drain(size_t* most);

  // Called once the worker has ended. Moves the bytes that it can have left in the pipe, over as
  // many calls as that takes. Returns true once they are on disk, or if the disk hangs.
  bool Settle();

  // Called once no process is left that could write into the pipe. Moves the bytes that arrived
  // since Settle(), and closes the pipe. Returns true once they are on disk, or if the disk hangs.
  bool Finish();

  // Closes the pipe and discards its content. Later writers receive SIGPIPE.
  void Close();

  absl::string_view last_bytes() const { return last_bytes_.text(); }
  int fd() const { return pipe_.get(); }  // -1 before Open() and after Close().

 private:
  bool TakeRest();

  logs::OutputWriter* const writer_;
  const StartCommand& start_;
  const int rank_;
  const logs::LogStream stream_;
  common::UniqueFd pipe_;
  int number_ = -1;  // The stream's number in the writer.
  logs::LastBytes last_bytes_;
  size_t rest_ = kPipeBytes;     // The number of bytes that TakeRest() may still move.
  std::optional<int64_t> mark_;  // The stream's size once TakeRest() is done.
  bool finishing_ = false;
};

}  // namespace accel::shim
