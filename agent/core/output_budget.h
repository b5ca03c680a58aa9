// Decides which output of jobs is deleted when all of it together exceeds its share of the
// disk (docs/decisions/0037). Pure.
//
// Output is deleted in this order, until the rest fits:
//   1. output of finished jobs, oldest job first;
//   2. output of earlier generations of live jobs, oldest job first;
//   3. middle segments of the largest streams. A reader of such a stream sees a gap, with its size.
// The first segment and the two newest ones of a stream that may still grow are always kept.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "common/ids.h"

namespace accel::agent {

struct SegmentFile {
  std::string path;
  int64_t bytes = 0;
};

// The segments of one stream, oldest first.
using StreamFiles = std::vector<SegmentFile>;

struct GenerationOutput {
  common::JobId job;
  common::Generation generation = 0;
  std::string folder;
  // This is the newest generation of a live job.
  bool live = false;
  int64_t bytes = 0;
  std::vector<StreamFiles> streams;  // Only filled in if `live`.
};

struct OutputRemovals {
  std::vector<GenerationOutput> generations;
  std::vector<std::string> segments;  // Paths.
  int64_t bytes = 0;                  // The size of everything that is deleted.
  // The number of bytes by which the rest is still too large. 0 if it fits.
  int64_t excess = 0;
};

OutputRemovals PlanRemovals(std::vector<GenerationOutput> outputs,
                            const std::set<common::JobId>& live, int64_t max_bytes);

}  // namespace accel::agent
