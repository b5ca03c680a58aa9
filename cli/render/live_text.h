// The output of `accel status --watch`: a text that is drawn again in place on a terminal, and
// lines about changes elsewhere. Pure. Not thread-safe.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "proto/service.pb.h"

namespace accel::cli {

// Draws each text over the one before.
class LiveText {
 public:
  // Returns the bytes that replace the last text by `text`. At most `rows` lines are drawn, so that
  // the first one never leaves the screen; the last one then says how many are left out. Longer
  // lines are cut by the terminal.
  std::string Draw(absl::string_view text, size_t rows);

 private:
  size_t drawn_ = 0;  // Number of lines of the last text.
};

// Finds the jobs that have changed since the last list.
class JobChanges {
 public:
  // Returns the jobs whose phase, generation or reason is new.
  v1::ListJobsResponse Since(const v1::ListJobsResponse& jobs);

 private:
  std::map<std::string, std::string> last_;  // What was reported, by job id.
};

// Returns one line: the time, the job's id, its phase and the reason.
std::string ChangeLine(const v1::Job& job, absl::Time now, absl::TimeZone zone);

}  // namespace accel::cli
