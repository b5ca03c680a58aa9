#pragma once

#include <cstddef>
#include <functional>

namespace accel {

// Bytes that are read or written at a time.
inline constexpr std::size_t kIoBytes = 4 << 20;

// How many such pieces are under way at once: what keeps a disk busy. The threads mostly wait.
inline constexpr std::size_t kIoThreads = 4;

// Calls `body` with each number below `count`, in about that order, on up to kIoThreads threads,
// this one among them. After an exception no further call begins; the first one is rethrown.
void in_parallel(std::size_t count, const std::function<void(std::size_t)>& body);

// The same for pieces that are read, in the order in which the disk has them: `announce` is called
// with each number a good while before `body`, so that the disk reads on while pieces are copied.
void read_in_parallel(std::size_t count, const std::function<void(std::size_t)>& announce,
                      const std::function<void(std::size_t)>& body);

}  // namespace accel
