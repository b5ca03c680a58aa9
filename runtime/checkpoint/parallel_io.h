// Reads and writes several pieces of a file at the same time, because a disk is slower with one
// piece at a time.
#pragma once

#include <cstddef>
#include <functional>

namespace accel::runtime {

// The number of bytes that are read or written at a time.
inline constexpr std::size_t kIoBytes = 4 << 20;

// The number of such pieces in flight, each with a thread that waits for the disk most of the time.
inline constexpr std::size_t kIoThreads = 4;

// Calls `body` with each number below `count`, in about that order, on up to kIoThreads threads;
// the calling thread is one of them. After an exception no further call begins, and the exception
// is rethrown once the calls under way have returned.
void in_parallel(std::size_t count, const std::function<void(std::size_t)>& body);

// Does the same for pieces that are read, numbered in the order in which the disk has
// them. Calls `announce` with each number well before `body`, so that the disk reads ahead
// while pieces are copied.
void read_in_parallel(std::size_t count, const std::function<void(std::size_t)>& announce,
                      const std::function<void(std::size_t)>& body);

}  // namespace accel::runtime
