// A report for tests, of node "a", which runs nothing.
#pragma once

#include <cstdint>

#include "proto/node.pb.h"

namespace accel::coordinator {

inline v1::NodeObserved Observed(uint64_t sequence) {
  v1::NodeObserved observed;
  observed.set_node_id("id-a");
  observed.set_name("a");
  observed.set_incarnation("a-1");
  observed.set_address("127.0.0.1");
  observed.set_sequence(sequence);
  return observed;
}

}  // namespace accel::coordinator
