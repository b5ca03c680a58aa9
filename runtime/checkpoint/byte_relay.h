// Hands the bytes of a file from the thread that has them to the thread that writes the file,
// without a copy and one part at a time.
//
// A file of a sharded model is made of tensors that are gathered one by one. Only the training
// thread may gather, because collectives need an order that is the same on all ranks. But a
// checkpoint is written in the background, by another thread (docs/decisions/0084).
#pragma once

#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <string_view>

#include "runtime/checkpoint/checkpoint_file.h"

namespace accel::runtime {

// The connection between a thread that gives bytes and a thread that takes them. Thread-safe.
class ByteRelay {
 public:
  // Blocks until `bytes` are taken. Returns immediately after close(), because the thread that
  // takes then reports its error itself.
  void give(std::string_view bytes);
  // Called by the giving thread as its last call: all bytes were given, or it has failed.
  void end();
  void fail(std::exception_ptr error);

  // Blocks until bytes are given, and passes them to `use`. Returns false if no more bytes will
  // come. Throws the error of the giving thread.
  bool take(const ByteSink& use);
  // Called by the taking thread as its last call. Pending and later calls of give() return.
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
