// How processes ended, in words: one vocabulary for the coordinator's reasons and the CLI. Pure.
// Messages of others go in as they are; who prints the words on a terminal escapes controls.
#pragma once

#include <string>

#include "proto/job.pb.h"

namespace accel::common {

// A predicate: "exited with code 3", "was killed by SIGSEGV (11) (core dumped)", "could not be
// started: ..."
std::string DescribeExit(const v1::ExitRecord& exit);

// One sentence without a full stop: "rank 1 on node a exited with code 3".
std::string DescribeFailure(const v1::FailureCause& cause);

}  // namespace accel::common
