#include "runtime/checkpoint/byte_relay.h"

#include <utility>

namespace accel::runtime {

void ByteRelay::give(std::string_view bytes) {
  std::unique_lock lock(mutex_);
  if (is_closed_) return;
  given_ = bytes;
  changed_.notify_all();
  changed_.wait(lock, [&] { return !given_ || is_closed_; });
  given_.reset();
}

void ByteRelay::end() {
  const std::lock_guard lock(mutex_);
  is_ended_ = true;
  changed_.notify_all();
}

void ByteRelay::fail(std::exception_ptr error) {
  const std::lock_guard lock(mutex_);
  error_ = std::move(error);
  changed_.notify_all();
}

bool ByteRelay::take(const ByteSink& use) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return given_ || is_ended_ || error_; });
  if (error_) std::rethrow_exception(error_);
  if (!given_) return false;
  const std::string_view bytes = *given_;
  lock.unlock();
  use(bytes);
  lock.lock();
  given_.reset();
  changed_.notify_all();
  return true;
}

void ByteRelay::close() {
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  changed_.notify_all();
}

}  // namespace accel::runtime
