// Bugs that the simulation must find. Each is an adapter between real parts (planted_bug.h), so no
// production code knows of it.
#pragma once

#include "tests/simulation/planted_bug.h"

namespace accel::simulation {

// Submits are acknowledged, and states published, before the disk has them.
PlantedBug AcknowledgesBeforePersisting();

// A commit that a crash has cut short is read as far as it goes.
PlantedBug KeepsHalfCommits();

// A commit is acknowledged before it is on the disk, so a power failure takes it.
PlantedBug LiesAboutFsync();

// An agent that finds no result of a shim starts the generation again, although it may have run.
PlantedBug ForgetsStarts();

// A late report that a generation has ended is taken for one about the next generation.
PlantedBug BelievesReportsOfOlderGenerations();

// The coordinator does not learn when a report was made, so the order in which failures are
// reported decides which of them was the first.
PlantedBug TrustsTheOrderOfReports();

// The coordinator does not learn of checkpoints, so jobs grow at any time.
PlantedBug IgnoresCheckpoints();

// A rank that hangs is reported as another rank of its node.
PlantedBug NamesTheWrongRank();

// A stop reaches the agent without its grace.
PlantedBug StopsWithoutGrace();

// A coordinator that recovers does not know the grace of a stop that is in progress.
PlantedBug ForgetsGraceOverARestart();

// A coordinator of another cluster is obeyed, as all of them were before they named their cluster.
PlantedBug ObeysAnyCoordinator();

// A node never learns that it must stop its job for lack of contact.
PlantedBug NeverFences();

// A store socket that a generation uses is offered again.
PlantedBug OffersUsedSocketsAgain();

}  // namespace accel::simulation
