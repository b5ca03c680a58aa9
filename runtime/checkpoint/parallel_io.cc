#include "runtime/checkpoint/parallel_io.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace accel::runtime {
namespace {

// The number of pieces that are announced ahead, 64 MiB in all. That is enough for a disk
// that reads 2 GB/s and gets requests every 30 ms. It is little compared to the memory of a
// machine that trains.
constexpr std::size_t kPiecesAhead = 16;

}  // namespace

void in_parallel(std::size_t count, const std::function<void(std::size_t)>& body) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr error;
  const auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        body(i);
      } catch (...) {
        next = count;
        const std::lock_guard lock(mutex);
        if (!error) error = std::current_exception();
      }
    }
  };
  std::vector<std::jthread> others;
  for (std::size_t i = 1; i < std::min(count, kIoThreads); ++i) others.emplace_back(work);
  work();
  others.clear();
  if (error) std::rethrow_exception(error);
}

void read_in_parallel(std::size_t count, const std::function<void(std::size_t)>& announce,
                      const std::function<void(std::size_t)>& body) {
  in_parallel(count, [&](std::size_t i) {
    const std::size_t end = std::min(count, i + kPiecesAhead + 1);
    for (std::size_t next = i == 0 ? 0 : i + kPiecesAhead; next < end; ++next) announce(next);
    body(i);
  });
}

}  // namespace accel::runtime
