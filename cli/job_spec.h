// Builds the JobSpec of a request from the flags. Pure, except for the calls to `CallerContext`.
//
// The following environment variables are sent with a job if this process has them:
//   - OMP_NUM_THREADS, GLOO_SOCKET_IFNAME, NCCL_SOCKET_IFNAME, ACCEL_SHARED_MEMORY and
//     TORCH_NCCL_ASYNC_ERROR_HANDLING, because the submitter's values win over accel's defaults;
//   - with `submit` also PATH, VIRTUAL_ENV, CONDA_PREFIX, PYTHONPATH and LD_LIBRARY_PATH, which
//     workers of `launch` inherit in any case;
//   - with `launch` also those of the plan, and with `submit` those of --config_file, which
//     override the variables above;
//   - those of --env, which override all others.
// --env cannot set the variables that accel itself sets; see SetByAccel() in common/worker_env.h.
#pragma once

#include "absl/status/statusor.h"
#include "cli/config/core/launch_plan.h"
#include "cli/launch_flags.h"
#include "cli/program.h"
#include "cli/submit_flags.h"
#include "proto/job.pb.h"
#include "upload/local_tree.h"

namespace accel::cli {

// Returns the job for `accel submit`. `upload` is the tree that --upload names, or null. The caller
// sets JobSpec.upload, because the tree has no hashes yet. INVALID_ARGUMENT: a flag is wrong; the
// message has its name and the reason. The coordinator checks all other fields.
absl::StatusOr<v1::JobSpec> MakeSubmitSpec(const SubmitFlags& flags, const CallerContext& context,
                                           const upload::LocalTree* upload = nullptr);

// Returns the job for `accel launch`. The caller sets terminal_columns and keep_stdin. Errors are
// those of MakeSubmitSpec().
absl::StatusOr<v1::JobSpec> MakeLaunchSpec(const LaunchFlags& flags, const LaunchPlan& plan,
                                           const CallerContext& context);

}  // namespace accel::cli
