// A file of a checkpoint that is about to be written.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace accel::runtime {

// Receives the bytes of a file part by part. Throws CheckpointError if they cannot be written.
using ByteSink = std::function<void(std::string_view)>;

struct CheckpointFile {
  std::string name;
  // The number of bytes that `write` produces, as an estimate. If the file is larger than one
  // block of 4 MiB, that much disk space is reserved before the first write.
  std::uint64_t expected_size = 0;
  // Passes the file's bytes to the sink, in order. May be called on any thread.
  std::function<void(const ByteSink&)> write;
};

}  // namespace accel::runtime
