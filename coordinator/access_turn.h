// One turn at the access state, on the thread of the coordinator's loop.
#pragma once

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "coordinator/core/cluster_state.h"

namespace accel::coordinator {

// What a turn may read and change. Valid during the call only.
struct AccessTurn {
  const ClusterState& cluster;
  AccessState* access;
  AccessChanges* changes;
  absl::Time wall;  // The time that people read.
};

// Runs once and must not block. After an error it must have changed nothing that matters.
using AccessAct = absl::AnyInvocable<absl::Status(const AccessTurn& turn)>;

}  // namespace accel::coordinator
