// What a host adds to the start of a generation before it sends it to the shim, and what it then
// records about the generation. Pure. PosixShimHost uses it.
#pragma once

#include <string>

#include "process/cgroup.h"
#include "shim/core/messages.h"
#include "shim/host/shim_record.h"

namespace accel::shim {

// Returns the start with its control groups, its limit of processes, and its spill folder below
// `spill_dir`. `shim` is the record of the shim that will receive the start. Groups and a limit
// that the start names are kept, unless the shim is another user's. Such a shim gets groups inside
// those of its job, and no spill folder. If `spill_dir` is empty, there is no spill folder.
StartCommand CompleteStart(StartCommand start, const ShimRecord& shim,
                           const process::CgroupSupport& cgroups, const std::string& spill_dir);

// Returns the record `shim` with the generation of `start` in place of its present generation. The
// fields that describe the shim itself are left unchanged.
ShimRecord RecordOfStart(const StartCommand& start, ShimRecord shim);

}  // namespace accel::shim
