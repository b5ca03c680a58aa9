// The kinds of faults that have happened in a simulated cluster. An event of a schedule may come to
// nothing, for example a crash at a commit if no commit follows. A fault that never happens tests
// nothing, so `tools/simulate` prints how many schedules had each kind.
#pragma once

#include <set>
#include <string>

namespace accel::simulation {

using SeenFaults = std::set<std::string>;

}  // namespace accel::simulation
