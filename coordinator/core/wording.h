// The sentences of `accel status`. They contain nothing that changes by itself, such as times or
// running counts. Each new sentence is a new version of the job, which must be
// stored and published.
#pragma once

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "proto/job.pb.h"

namespace accel::coordinator {

// Maximum number of nodes that a reason names.
inline constexpr int kMaxNames = 3;

// Returns, for example, "node a", "nodes a, b" or "more than 3 nodes".
std::string NameNodes(const std::vector<std::string>& names);
std::string NameNodes(const google::protobuf::RepeatedPtrField<v1::Placement>& placements);

// Returns, for example, "2 processes on nodes a, b".
std::string DescribeWorld(const google::protobuf::RepeatedPtrField<v1::Placement>& placements);

// Returns, for example, "Rank 1 on node a exited with code 3".
std::string DescribeFailureFirst(const v1::FailureCause& cause);

// Returns, for example, "Rank 1 on node a exited with code 3; restart 2 of 5 after a pause of 1s.".
// The counts of the job must already include this failure.
std::string DescribeRestart(const v1::Job& job, absl::Duration pause);

// Returns why a generation is being stopped, for example "Cancelled" or "All ranks have exited with
// code 0". `next` is what happens to the job after the stop.
std::string WhyStopping(const v1::Job& job, v1::AfterStop next);

}  // namespace accel::coordinator
