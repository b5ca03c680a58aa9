// The cause of a job that fails at a deadline, such as its time limit. Every such cause is a
// failure of the whole job, so it names no rank and no node.
#pragma once

#include <string>

#include "proto/job.pb.h"

namespace accel::coordinator {

// Returns a cause in the job's current generation, or in generation 0 if the job has none.
// `message` says which deadline has passed.
v1::FailureCause TimedOut(const v1::Job& job, std::string message);

// Returns the cause of a job whose time limit has passed.
v1::FailureCause TimeLimitPassed(const v1::Job& job);

}  // namespace accel::coordinator
