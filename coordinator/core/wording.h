// The sentences of `accel status`. They hold nothing that changes by itself (no times, no counts
// that tick), because a new reason is a new version of the job.
#pragma once

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "proto/job.pb.h"

namespace accel::coordinator {

// "node a", "nodes a, b", "more than 3 nodes"
std::string NameNodes(const std::vector<std::string>& names);

// "2 processes on nodes a, b"
std::string DescribeWorld(const v1::GenerationRecord& generation);

// "Rank 1 on node a exited with code 3"
std::string DescribeFailureFirst(const v1::FailureCause& cause);

// "Rank 1 on node a exited with code 3; restart 2 of 5 after a pause of 1s." The cause is counted
// already.
std::string DescribeRestart(const v1::Job& job, absl::Duration pause);

// Why the generation of a job that is STOPPING, with this `next`, is being ended: "Cancelled", "All
// ranks have exited with code 0"...
std::string WhyStopping(const v1::Job& job, v1::AfterStop next);

}  // namespace accel::coordinator
