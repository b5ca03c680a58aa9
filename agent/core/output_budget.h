// Decides which output of jobs goes when all of it together takes more disk than it may
// (docs/decisions/0037). Pure.
//
// Output goes in this order, until the rest fits:
//   1. that of finished jobs, oldest job first;
//   2. that of earlier generations of jobs that still run, oldest first;
//   3. middle segments of the largest streams. Their readers see a gap, with its size.
// The first segment and the two newest ones of a stream that may still grow always stay.
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
  bool live = false;  // The newest generation of a job that has processes here.
  int64_t bytes = 0;
  std::vector<StreamFiles> streams;  // Known only of a live one.
};

struct OutputRemovals {
  std::vector<GenerationOutput> generations;
  std::vector<std::string> segments;  // Paths.
  int64_t bytes = 0;                  // The size of everything that goes.
  int64_t excess = 0;                 // By how much the rest is still too large. 0 if it fits.
};

OutputRemovals PlanRemovals(std::vector<GenerationOutput> outputs,
                            const std::set<common::JobId>& live, int64_t max_bytes);

}  // namespace accel::agent
