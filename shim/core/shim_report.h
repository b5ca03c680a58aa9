// What a shim host tells its agent about one shim.
#pragma once

#include <optional>

#include "common/ids.h"
#include "shim/core/messages.h"

namespace accel::shim {

struct ShimReport {
  common::JobId job;
  // The newest state of its newest generation. When the shim was killed, the state is kEnded, every
  // worker without an exit record has kShimDied, and no process of the job is left on the node.
  std::optional<GenerationReport> generation;
  bool shim_ended = false;  // The shim process itself is gone; the last report of this job's shim.
};

}  // namespace accel::shim
