// Checks a request to read output, and splits it into one request for each rank. Pure.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "proto/job.pb.h"
#include "proto/service.pb.h"

namespace accel::coordinator {

// One rank whose output a client wants.
struct WantedRank {
  const v1::Placement* placement = nullptr;  // Its part. Points into the generation's record.
  v1::LogReader reader;                      // Without an id.
};

// Maximum size of an expression that lines must match. It is small because each rank's desired
// state has a copy.
inline constexpr size_t kMaxGrepBytes = 1024;

// Returns the wanted ranks of a generation of `job`, ascending. NOT_FOUND: the generation has no
// such rank. INVALID_ARGUMENT: the message names the field.
absl::StatusOr<std::vector<WantedRank>> WantedRanks(const v1::ReadLogsRequest& request,
                                                    const v1::Job& job,
                                                    const v1::GenerationRecord& generation);

}  // namespace accel::coordinator
