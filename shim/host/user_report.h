// What the agent believes of the report of a shim that is another user's process. Pure.
#pragma once

#include "shim/core/messages.h"
#include "shim/host/shim_record.h"

namespace accel::shim {

// Returns the report with the workers, folder and grace of the record, whatever the shim says about
// these, and with texts that are printable and bounded. A user may make his own job look as he
// likes. He must neither make the agent send what the coordinator rejects, nor name files or
// processes of others.
GenerationReport Believed(const GenerationReport& said, const ShimRecord& record);

}  // namespace accel::shim
