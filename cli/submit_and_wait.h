// Submits a job and, if asked to, waits for its end: what `accel submit` and `accel resubmit`
// share.
#pragma once

#include "cli/console.h"
#include "cli/coordinator_client.h"
#include "proto/job.pb.h"

namespace accel::cli {

struct AfterSubmit {
  bool wait = false;  // Wait until the job ends. Ctrl-C and SIGTERM cancel it.
  bool json = false;  // Print JSON.
};

// Prints the id of the new job, and the rest as the flags ask. Returns the exit code of accel.
int SubmitAndWait(CoordinatorClient& client, const v1::JobSpec& spec, const AfterSubmit& after,
                  const Console& console);

}  // namespace accel::cli
