// The output of `accel status --watch`. On a terminal it is a text that is redrawn in place, and
// otherwise a line for each change. Pure. Not thread-safe.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "proto/service.pb.h"

namespace accel::cli {

// Draws each text over the previous one.
class LiveText {
 public:
  // Returns the bytes that replace the last text by `text`. Draws at most `rows` lines, because the
  // first line must not leave the screen. If lines are left out, the last line says how many. The
  // terminal cuts longer lines.
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
  std::map<std::string, std::string> last_;  // The last reported facts, by job id.
};

// Returns one line: the time, the job's id, its phase and the reason.
std::string ChangeLine(const v1::Job& job, absl::Time now, absl::TimeZone zone);

}  // namespace accel::cli
