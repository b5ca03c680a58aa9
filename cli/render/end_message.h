// How a job ended, for people. Pure. What others wrote is escaped.
#pragma once

#include <string>

#include "proto/job.pb.h"

namespace accel::cli {

// For a job in a final phase, what people should read on standard error after "accel: "; empty if
// it succeeded. Several lines, the last one not ended:
//
//   rank 1 on node a exited with code 3 (generation 2 of job a0x2k9fq, "mnist")
//   its last lines:
//     | Traceback (most recent call last):
//     | ...
std::string EndMessage(const v1::Job& job);

}  // namespace accel::cli
