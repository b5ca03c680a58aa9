// The report of a shim host to its agent about one shim.
#pragma once

#include <optional>

#include "common/ids.h"
#include "shim/core/messages.h"

namespace accel::shim {

struct ShimReport {
  common::JobId job;
  // The newest state of the shim's newest generation. If the shim was killed, the state is kEnded,
  // and every worker without an exit record has kShimDied. No process of the job is left then.
  std::optional<GenerationReport> generation;
  // If true, the shim's process is gone. This is the last report about the shim.
  bool shim_ended = false;
  // If true, the shim exits once its generation has ended, and takes no further start.
  bool shim_is_leaving = false;
};

}  // namespace accel::shim
