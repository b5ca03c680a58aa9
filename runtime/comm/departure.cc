#include "runtime/comm/departure.h"

#include <exception>
#include <thread>

namespace accel {
namespace {

constexpr char kLeaving[] = "leaving", kAll[] = "all_leave", kAlone[] = "one_left_alone";
constexpr std::chrono::milliseconds kLookEvery{5};

}  // namespace

bool depart_together(const DepartureBoard& board, int size, std::chrono::milliseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  try {
    if (board.count(kLeaving) == size) board.mark(kAll);
    while (!board.is_marked(kAll)) {
      if (board.is_marked(kAlone) || std::chrono::steady_clock::now() >= deadline) return false;
      std::this_thread::sleep_for(kLookEvery);
    }
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

void depart_alone(const DepartureBoard& board) {
  try {
    board.mark(kAlone);
  } catch (const std::exception&) {
    // Then nobody waits on that board.
  }
}

}  // namespace accel
