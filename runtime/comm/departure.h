#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

namespace accel {

// Marks and counters that all ranks of a world share. They throw std::exception if they cannot be
// reached.
struct DepartureBoard {
  std::function<std::int64_t(const std::string& key)> count;  // Adds one; the sum so far.
  std::function<void(const std::string& key)> mark;
  std::function<bool(const std::string& key)> is_marked;
};

// Whether all ranks of a world of `size` leave it together. A rank that is done with its work calls
// depart_together(), and waits for the others: until all have, one has left alone, the board is
// gone or `limit` is over. One that fails calls depart_alone(), and nobody waits for it.
bool depart_together(const DepartureBoard& board, int size, std::chrono::milliseconds limit);
void depart_alone(const DepartureBoard& board);

}  // namespace accel
