// A function that reads or changes the access state on the thread of the coordinator's loop.
#pragma once

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "coordinator/core/cluster_state.h"

namespace accel::coordinator {

// The state that the function may read and change. Valid only during the call.
struct AccessTurn {
  const ClusterState& cluster;
  AccessState* access;
  AccessChanges* changes;
  absl::Time wall;  // The time of the wall clock.
};

// Runs once and must not block. Changes that it made before it returned an error are committed too,
// so they must be harmless.
using AccessAct = absl::AnyInvocable<absl::Status(const AccessTurn& turn)>;

}  // namespace accel::coordinator
