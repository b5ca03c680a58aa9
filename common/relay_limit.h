// How many ranks' output a node sends at the same time.
#pragma once

#include <cstddef>

namespace accel::common {

// Maximum number of concurrent relays of one agent. Further readers wait until a relay has finished
// (invariant 8, docs/decisions/0014).
inline constexpr size_t kMaxRelays = 128;

}  // namespace accel::common
