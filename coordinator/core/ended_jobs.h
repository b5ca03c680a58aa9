// The ends of jobs that are no longer kept in full. A client that repeats a submit whose answer was
// lost gets the first job instead of a second one. A client that waits for a job gets the end of
// that job, even if thousands of jobs have ended meanwhile. Not thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/ids.h"
#include "proto/job.pb.h"

namespace accel::coordinator {

struct EndedJob {
  common::JobId id;
  std::string submit_id;
  std::string owner;
  v1::JobPhase phase = v1::JOB_PHASE_UNSPECIFIED;  // Final.
  int exit_code = 0;
  int64_t ended_unix_ms = 0;
};

// Returns what is kept of a job in a final phase.
EndedJob EndOf(const v1::Job& job);

// Returns a job with the fields that are still known: its ids, owner, phase, exit code and the time
// of its end.
v1::Job ToJob(const EndedJob& ended);

// A bounded list of ended jobs, indexed by job id and by submit id. A record takes about 300 bytes.
class EndedJobs {
 public:
  static constexpr absl::Duration kKept = absl::Hours(24);

  EndedJobs() = default;
  EndedJobs(EndedJobs&&) = default;
  EndedJobs& operator=(EndedJobs&&) = default;

  struct Kept {
    EndedJob job;
    absl::Time since;
  };

  // Adds a job. Then drops the oldest jobs while all together take more than `max_bytes`, and all
  // jobs that are older than kKept. Returns the ids of the dropped jobs. `now` is monotonic.
  std::vector<common::JobId> Add(EndedJob job, absl::Time now, int64_t max_bytes);

  // Return null if the job is unknown or was dropped.
  const EndedJob* FindBySubmit(const std::string& submit_id) const;
  const EndedJob* Find(const common::JobId& id) const;
  const Kept* FindKept(const common::JobId& id) const;

  size_t size() const { return jobs_.size(); }

 private:
  static int64_t BytesOf(const EndedJob& job);
  void DropOldest();

  int64_t bytes_ = 0;
  // The jobs, oldest first. A deque that grows and shrinks only at its ends does not move its
  // elements, so the indexes may point to them.
  std::deque<Kept> jobs_;
  absl::flat_hash_map<absl::string_view, const Kept*> by_id_;
  absl::flat_hash_map<absl::string_view, const EndedJob*> by_submit_;
};

}  // namespace accel::coordinator
