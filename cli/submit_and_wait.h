// Submits a job and waits for its end if asked to, for `accel submit` and `accel resubmit`.
#pragma once

#include "cli/console.h"
#include "cli/coordinator_client.h"
#include "proto/job.pb.h"

namespace accel::cli {

struct AfterSubmit {
  bool wait = false;  // Wait until the job ends. Ctrl-C and SIGTERM cancel it.
  bool json = false;  // Print JSON.
};

// Submits the job, prints its id, and waits if `after.wait`. Returns the exit code of accel.
int SubmitAndWait(CoordinatorClient& client, const v1::JobSpec& spec, const AfterSubmit& after,
                  const Console& console);

}  // namespace accel::cli
