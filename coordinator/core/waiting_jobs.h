// The jobs that wait for room: two lines of queued jobs, and elastic jobs that may grow.
//
// A pass over a line follows each submit and each end of a job, so it must not look at each of ten
// thousand jobs. A line therefore has groups of jobs of one shape (ShapeOf() in job_spec.h),
// because one answer holds for all of them: a pass tries to place one job of each group. A group
// remembers what the reasons of its jobs say, so only those that say something else get a new
// reason (docs/decisions/0046).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/ids.h"

namespace accel::coordinator {

struct JobEntry;

// The jobs of a line that have the same shape.
struct WaitingGroup {
  using Jobs = std::map<common::JobId, const JobEntry*>;  // Oldest first.

  Jobs all;
  // Why the jobs are not placed, as the reasons of those in `answered` say it. A job that failed
  // before adds its last failure.
  std::string answer;
  // Each job is in one of the next three.
  Jobs answered;
  Jobs behind;  // Their reasons say that they wait behind earlier jobs.
  Jobs others;  // Their reasons may say something else, for example because the jobs are new.
};

// The new reasons that a pass gives to jobs of a group. They change when the plan is performed.
struct GroupNews {
  std::string shape;
  std::optional<std::string> answer;  // If it is another one.
  std::vector<common::JobId> answered;
  std::vector<common::JobId> behind;
};

// A line of queued jobs. Not thread-safe.
class WaitingLine {
 public:
  using Jobs = WaitingGroup::Jobs;

  // Adds a job. Does nothing if the job is in the line.
  void Insert(const common::JobId& id, const std::string& shape, const JobEntry* entry);
  // Removes a job, if it is in the line.
  void Erase(const common::JobId& id, const std::string& shape);
  // Remembers what the reasons of a group say now. Leaves out jobs that are no longer in the line.
  void Remember(const GroupNews& news);

  // By shape. No group is empty.
  const std::map<std::string, WaitingGroup>& groups() const { return groups_; }

 private:
  std::map<std::string, WaitingGroup> groups_;
};

struct WaitingJobs {
  WaitingLine gpu_line;  // PENDING jobs that would be placed on GPUs now.
  WaitingLine cpu_line;  // All other PENDING jobs.
  // RUNNING jobs on fewer nodes than they ask for.
  WaitingLine::Jobs growable;

  bool empty() const {
    return gpu_line.groups().empty() && cpu_line.groups().empty() && growable.empty();
  }
};

}  // namespace accel::coordinator
