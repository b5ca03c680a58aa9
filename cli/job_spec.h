// From flags to the job that the coordinator is asked for. Pure but for what `Surroundings`
// answers.
//
// Variables that travel with a job, each if it is set: OMP_NUM_THREADS, GLOO_SOCKET_IFNAME,
// NCCL_SOCKET_IFNAME and TORCH_NCCL_ASYNC_ERROR_HANDLING (the submitter's word against accel's
// defaults); with `submit` also PATH, VIRTUAL_ENV, CONDA_PREFIX, PYTHONPATH and LD_LIBRARY_PATH (a
// launched worker has the whole environment anyway); then --env. ACCEL_* never: accel sets those.
#pragma once

#include "absl/status/statusor.h"
#include "cli/launch_flags.h"
#include "cli/program.h"
#include "cli/submit_flags.h"
#include "proto/job.pb.h"

namespace accel::cli {

// INVALID_ARGUMENT: which flag, and why. The coordinator judges the rest.
absl::StatusOr<v1::JobSpec> MakeSubmitSpec(const SubmitFlags& flags, const Surroundings& around);

// As above. Terminal and standard input are left for the caller to say.
absl::StatusOr<v1::JobSpec> MakeLaunchSpec(const LaunchFlags& flags, const Surroundings& around);

}  // namespace accel::cli
