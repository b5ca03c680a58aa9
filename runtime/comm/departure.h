#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

namespace accel {

// What the ranks of a world share when they leave it. The functions throw std::exception if it
// cannot be reached.
struct DepartureBoard {
  std::function<std::int64_t()> arrive;       // How many have arrived, with this one.
  std::function<bool(bool together)> decide;  // What the first rank that decides says, for all.
  std::function<void(std::chrono::milliseconds limit)> await_decision;  // Or the limit.
};

// Whether all ranks of a world of `size` leave it together, which all learn alike. A rank that is
// done with its work calls depart_together(), and waits for the others: until all have, one has
// left alone, the board is gone or `limit` is over. One that fails calls depart_alone(), and nobody
// waits for it.
bool depart_together(const DepartureBoard& board, int size, std::chrono::milliseconds limit);
void depart_alone(const DepartureBoard& board);

}  // namespace accel
