#include "runtime/comm/departure.h"

#include <exception>

namespace accel {

bool depart_together(const DepartureBoard& board, int size, std::chrono::milliseconds limit) {
  try {
    const bool is_last = board.arrive() == size;
    if (!is_last) board.await_decision(limit);
    return board.decide(is_last);
  } catch (const std::exception&) {
    return false;
  }
}

void depart_alone(const DepartureBoard& board) {
  try {
    board.decide(false);
  } catch (const std::exception&) {
    // Without the board no other rank can be waiting either.
  }
}

}  // namespace accel
