// Plays schedules, and shrinks those that fail.
#pragma once

#include <functional>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "tests/simulation/planted_bug.h"
#include "tests/simulation/schedule.h"
#include "tests/simulation/seen_faults.h"

namespace accel::simulation {

// Returns the bug to plant. A bug may remember what it has seen, so each play gets a new one.
using Plant = std::function<PlantedBug()>;

inline PlantedBug NoBug() { return {}; }

struct Outcome {
  absl::Status status;       // See UnreliableCluster.
  absl::Duration simulated;  // How much simulated time has passed.
  SeenFaults seen;
};

// Lets the events happen, then stops all faults and waits until every job has ended.
Outcome Play(const Schedule& schedule, const Plant& plant);

// Returns a schedule that fails like this one, with the same code, with as few of its events as
// some two hundred attempts find.
Schedule Shrink(const Schedule& failing, const Plant& plant);

// Plays the random schedule of a seed. After a failure, shrinks the schedule. The message is then
// what was found, and the text of the schedule that finds it.
Outcome PlaySeed(uint32_t seed, const Plant& plant);

}  // namespace accel::simulation
