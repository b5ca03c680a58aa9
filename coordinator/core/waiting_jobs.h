// The jobs that wait for room: two lines of queued jobs, and elastic jobs that may grow.
//
// A job that waits for others to end blocks the jobs behind it, so the planner looks at a line only
// up to that job. The reasons of the jobs behind it say that they wait behind earlier jobs. A line
// remembers the jobs whose reason may say something else: those that came since the last look, and
// those that were in front then. Only these are looked at again (docs/decisions/0046).
#pragma once

#include <map>

#include "common/ids.h"

namespace accel::coordinator {

struct JobEntry;

// A line of queued jobs. Not thread-safe.
class WaitingLine {
 public:
  using Jobs = std::map<common::JobId, const JobEntry*>;  // Oldest first.

  // Adds a job. Does nothing if the job is in the line.
  void Insert(const common::JobId& id, const JobEntry* entry) {
    if (all_.emplace(id, entry).second) others_.emplace(id, entry);
  }
  void Erase(const common::JobId& id) {
    all_.erase(id);
    others_.erase(id);
  }

  // Notes that the job's reason says that it waits behind earlier jobs, or that it says something
  // else. Does nothing if the job is not in the line.
  void SaysBehind(const common::JobId& id) { others_.erase(id); }
  void SaysOther(const common::JobId& id) {
    const auto job = all_.find(id);
    if (job != all_.end()) others_.insert(*job);
  }

  const Jobs& all() const { return all_; }
  // The jobs whose reason may say something else than that they wait behind earlier jobs.
  const Jobs& others() const { return others_; }

 private:
  Jobs all_;
  Jobs others_;
};

struct WaitingJobs {
  WaitingLine gpu_line;  // PENDING jobs that would be placed on GPUs now.
  WaitingLine cpu_line;  // All other PENDING jobs.
  // RUNNING jobs on fewer nodes than they ask for.
  WaitingLine::Jobs growable;

  bool empty() const {
    return gpu_line.all().empty() && cpu_line.all().empty() && growable.empty();
  }
};

}  // namespace accel::coordinator
