#include "runtime/comm/departure.h"

#include <exception>

namespace accel::runtime {

bool depart_together(const DepartureStore& store, int size, std::chrono::milliseconds limit) {
  try {
    const bool is_last = store.arrive() == size;
    if (!is_last) store.await_decision(limit);
    return store.decide(is_last);
  } catch (const std::exception&) {
    return false;
  }
}

void depart_alone(const DepartureStore& store) {
  try {
    store.decide(false);
  } catch (const std::exception&) {
    // If this rank cannot reach the store, no other rank can be waiting there either.
  }
}

}  // namespace accel::runtime
