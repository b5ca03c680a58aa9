// Describes how a job ended, for people. Pure. Text from outside is escaped.
#pragma once

#include <string>

#include "proto/job.pb.h"

namespace accel::cli {

// Returns the message for a job in a final phase, which is written to standard error after "accel:
// ". Empty if the job succeeded. May have several lines; the last one has no line feed:
//
//   rank 1 on node a exited with code 3 (generation 2 of job a0x2k9fq, "mnist")
//   after it, 7 other ranks failed within 0.4 s: 7 exited with code 1
//   its last lines:
//     | Traceback (most recent call last):
//     | ...
//   it began with another failure: rank 0 on node b exited with code 9 (generation 1)
std::string EndMessage(const v1::Job& job);

}  // namespace accel::cli
