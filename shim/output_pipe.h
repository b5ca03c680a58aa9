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

// Capacity of a pipe in bytes. A worker that ends can have left no more than that in its pipe.
constexpr size_t kPipeBytes = 1 << 20;

// Not thread-safe. No call blocks.
class OutputPipe {
 public:
  // `writer` and `start` must outlive this object.
  OutputPipe(logs::OutputWriter* writer, const StartCommand& start, int rank,
             logs::LogStream stream);

  // Makes the pipe and returns the worker's end, close-on-exec. Fails, for example with
  // RESOURCE_EXHAUSTED, if no descriptor is left.
  absl::StatusOr<common::UniqueFd> Open();

  enum class Progress {
    kEmpty,   // The pipe is empty for now.
    kMore,    // `*most` bytes have been moved.
    kNoRoom,  // The writer has no room. Call again once the writer has made progress.
    kEnd,     // No process has the pipe open for writing any more.
  };
  // Moves bytes from the pipe to the writer, at most `*most`, and lowers `*most` by their number.
  Progress Drain(size_t* most);

  // Moves the bytes that an ended worker can have left in the pipe. Must be called again until it
  // returns true, which means that these bytes are on disk, or that the disk hangs.
  bool Settle();

  // Moves the bytes that have arrived since Settle(), and closes the pipe. Called once no process
  // is left that could write into the pipe. Must be called again until it returns true, which means
  // that these bytes are on disk, or that the disk hangs.
  bool Finish();

  // Adds lines of the shim itself to the stream, on lines of their own. Dropped if the stream is
  // closed, or if the writer has no room. last_bytes() does not include them.
  void AddLines(absl::string_view lines);

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
