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
// key `coordinator` choose that for any number of machines, because they are given for a launch.
// ACCEL_COORDINATOR chooses it for several machines only, because people set it once for `accel
// status` and its like, and their launches on one machine must stay there.
bool IsForCluster(const EffectiveSettings& settings, const EnvLookup& env, int64_t machines);

// INVALID_ARGUMENT: a coordinator and an address at which machines meet are both given. The address
// of a file may stand with --coordinator, because Accelerate's files have one.
absl::Status CheckClusterChoice(const EffectiveSettings& settings);

// Returns a sentence for each address that is given without effect. `on_cluster` is as of
// IsForCluster(). On one machine, keys of a file are not named.
std::vector<std::string> NotesOnAddresses(const EffectiveSettings& settings, bool on_cluster,
                                          int64_t machines);

}  // namespace accel::cli
