// Decides whether a launch is a job for the coordinator of a cluster. Pure.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cli/config/core/effective_settings.h"
#include "cli/config/core/meeting_place.h"

namespace accel::cli {

// Returns true if ACCEL_COORDINATOR is set and not empty.
bool NamesCoordinator(const EnvLookup& env);

// Returns true if a launch on `machines` machines is a job for a coordinator. --coordinator and the
// key `coordinator` choose the coordinator for any number of machines, because they are given for
// this launch. ACCEL_COORDINATOR chooses it only for several machines. The reason is that users set
// the variable once for commands such as `accel status`, and their launches on one machine must
// remain on it.
bool IsForCluster(const EffectiveSettings& settings, const EnvLookup& env, int64_t machines);

// Checks that not both a coordinator and an address at which machines meet are given.
// INVALID_ARGUMENT: both are given. The address of a file is accepted with --coordinator, because
// Accelerate's files always have one.
absl::Status CheckClusterChoice(const EffectiveSettings& settings);

// Returns a sentence for each given address that has no effect. `on_cluster` is the result of
// IsForCluster(). For a launch on one machine, keys of a file get no sentence.
std::vector<std::string> NotesOnAddresses(const EffectiveSettings& settings, bool on_cluster,
                                          int64_t machines);

}  // namespace accel::cli
