// Filters the reports of shims that run as other users, because such a user can make a shim
// report anything. Pure.
#pragma once

#include "shim/core/messages.h"
#include "shim/host/shim_record.h"

namespace accel::shim {

// Returns the report with the workers, folder and grace of the record instead of those that the
// shim has sent. All texts are made printable and bounded. A user may falsify the report of the own
// job. But a user must not make the agent send what the coordinator rejects, nor name files of
// others. The pids of workers are those that the shim has sent, and the agent only reports them.
GenerationReport Believed(const GenerationReport& said, const ShimRecord& record);

}  // namespace accel::shim
