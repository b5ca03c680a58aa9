// Hands the bytes of a file from the thread that has them to the thread that writes the file,
// without a copy and one part at a time.
//
// A file of a sharded model is made of tensors that are gathered one by one. Only the training
// thread may gather, because the order of collectives belongs to it, and a checkpoint is written in
// the background (docs/decisions/0084).
#pragma once

#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <string_view>

#include "runtime/checkpoint/checkpoint_file.h"

namespace accel::runtime {

// One thread gives, and another one takes. Thread-safe.
class ByteRelay {
 public:
  // Blocks until `bytes` are taken. Does nothing once nothing is taken any more, because the error
  // of the thread that takes is reported by that thread.
  void give(std::string_view bytes);
  // The giving thread calls one of these at last: all bytes were given, or it has failed.
  void end();
  void fail(std::exception_ptr error);

  // Blocks until bytes are given, and passes them to `use`. Returns false if there are no more.
  // Throws the error of the giving thread.
  bool take(const ByteSink& use);
  // Nothing is taken any more. Calls of give() return. The taking thread calls it, at last.
  void close();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<std::string_view> given_;
  bool is_ended_ = false, is_closed_ = false;
  std::exception_ptr error_;
};

// Closes a relay at the end of a scope.
class RelayCloser {
 public:
  explicit RelayCloser(ByteRelay& relay) : relay_(relay) {}
  ~RelayCloser() { relay_.close(); }
  RelayCloser(const RelayCloser&) = delete;
  RelayCloser& operator=(const RelayCloser&) = delete;

 private:
  ByteRelay& relay_;
};

}  // namespace accel::runtime
