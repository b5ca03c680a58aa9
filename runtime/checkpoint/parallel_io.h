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

}  // namespace accel
