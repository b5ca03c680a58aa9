// Keeps the output of jobs within bounds on this node's disk (invariant 8).
#pragma once

#include <cstddef>
#include <set>
#include <string>

#include "common/ids.h"

namespace accel {

// Deletes the oldest of the jobs under `jobs_dir` that are not `live`, so that at most `most` of
// them keep their output. What cannot be deleted stays until the next time.
void PruneJobs(const std::string& jobs_dir, const std::set<JobId>& live, size_t most);

// Deletes what generations before the `most` newest have left in a job's folder; `newest` need not
// have one yet.
void PruneGenerations(const std::string& job_dir, Generation newest, int most);

}  // namespace accel
