// Describes in words how processes ended, for the coordinator's messages and for the CLI. Pure.
// Messages from outside are inserted unchanged, so code that shows the text on a terminal must
// escape control characters.
#pragma once

#include <string>

#include "proto/job.pb.h"

namespace accel::common {

// Returns true if the whole node is gone, or leaves. No rank of it has failed by itself.
bool IsOfNode(const v1::ExitRecord& exit);

// Returns a predicate: "exited with code 3", "was killed by SIGSEGV (11) (core dumped)", "could not
// be started: ..."
std::string DescribeExit(const v1::ExitRecord& exit);

// Returns one sentence without a full stop: "rank 1 on node a exited with code 3".
std::string DescribeFailure(const v1::FailureCause& cause);

// Returns one sentence without a full stop: "7 other ranks failed within 0.4 s: 6 exited with code
// 1, 1 was killed by SIGABRT (6)". There must be at least one.
std::string DescribeLater(const v1::LaterFailures& later);

}  // namespace accel::common
