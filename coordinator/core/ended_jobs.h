// How jobs ended that are no longer kept. Whoever repeats a submit whose answer was lost gets the
// job that it made, not another one, and whoever waits for a job hears its end, also when thousands
// of jobs have ended meanwhile.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/ids.h"
#include "proto/job.pb.h"

namespace accel::coordinator {

struct EndedJob {
  common::JobId id;
  std::string submit_id;
  v1::JobPhase phase = v1::JOB_PHASE_UNSPECIFIED;  // Final.
  int exit_code = 0;
  int64_t ended_unix_ms = 0;
};

EndedJob EndOf(const v1::Job& job);

// What is left to tell of it: ids, phase, exit code, time of the end.
v1::Job ToJob(const EndedJob& ended);

// A record takes about 300 bytes.
class EndedJobs {
 public:
  static constexpr absl::Duration kKept = absl::Hours(24);

  EndedJobs() = default;
  EndedJobs(EndedJobs&&) = default;
  EndedJobs& operator=(EndedJobs&&) = default;

  // Each is kept for a day, unless all together have more than `most_bytes`: then the oldest go.
  // `now` is monotonic.
  void Add(EndedJob job, absl::Time now, int64_t most_bytes);

  // Null: not known, or not any more.
  const EndedJob* FindBySubmit(const std::string& submit_id) const;
  const EndedJob* Find(const common::JobId& id) const;

  size_t size() const { return jobs_.size(); }

 private:
  struct Kept {
    EndedJob job;
    absl::Time since;
  };

  static int64_t BytesOf(const EndedJob& job);
  void DropOldest();

  int64_t bytes_ = 0;
  std::deque<Kept> jobs_;  // Oldest first. Grows and shrinks at its ends, so its elements stay.
  absl::flat_hash_map<absl::string_view, const EndedJob*> by_id_;
  absl::flat_hash_map<absl::string_view, const EndedJob*> by_submit_;
};

}  // namespace accel::coordinator
