// The pipe that one stream of one worker writes into, as far as the OutputWriter.
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

// A pipe holds at most this much: the bound of what a worker can have left behind in it.
constexpr size_t kPipeBytes = 1 << 20;

// Nothing here blocks. Not thread-safe.
class OutputPipe {
 public:
  // `writer` and `start` outlive it.
  OutputPipe(logs::OutputWriter* writer, const GenerationStart& start, int rank,
             logs::LogStream stream);

  // Makes the pipe; returns the end for the worker, close-on-exec. RESOURCE_EXHAUSTED and the like:
  // no descriptor left.
  absl::StatusOr<common::UniqueFd> Open();

  enum class Progress {
    kEmpty,   // Nothing is left in it for now.
    kMore,    // `most` bytes have been moved.
    kNoRoom,  // The writer has no room; worth another try once it has made progress.
    kEnd,     // Nobody holds the other end any more.
  };
  // Moves what is in the pipe, at most `*most` bytes, to the writer; lowers `*most` by as much.
  Progress Drain(size_t* most);

  // The worker has ended: takes in what it can have left in the pipe, over as many calls as that
  // takes. True once this is on disk, or the disk hangs.
  bool Settle();

  // All that could write into the pipe is gone: as Settle(), for what has come since, and closes
  // it.
  bool Finish();

  // Closes it and leaves what is in it: whoever still writes into it writes to nobody.
  void Close();

  absl::string_view last_bytes() const { return last_bytes_.text(); }
  int fd() const { return pipe_.get(); }  // -1 before Open() and after Close().

 private:
  bool TakeRest();

  logs::OutputWriter* const writer_;
  const GenerationStart& start_;
  const int rank_;
  const logs::LogStream stream_;
  common::UniqueFd pipe_;
  int number_ = -1;  // Of the stream, in the writer.
  logs::LastBytes last_bytes_;
  size_t rest_ = kPipeBytes;     // How much of it TakeRest() may still move.
  std::optional<int64_t> mark_;  // The stream's size once the rest was taken in.
  bool finishing_ = false;
};

}  // namespace accel::shim
