// Copies of workers' output for --tee with --log_dir, under the names that torchrun gives them:
//
//   JOB_DIR/attempt_0/1/stdout.log   standard output of local rank 1 before the first restart
//   JOB_DIR/attempt_0/1/stderr.log
//   JOB_DIR/attempt_0/1/error.json   a link to the worker's error file, if there is one
//
// The copies are for scripts that read the output of torchrun. Unlike the segments in the same
// folder (logs/log_paths.h), they are not bounded.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/unique_fd.h"

namespace accel::cli {

// Not thread-safe.
class TeeFiles {
 public:
  // Appends to the file of this local rank and stream. Each generation of the job has its own
  // attempt folder. Once a generation has begun, no output of an earlier one may be added. `gap`
  // is the number of bytes that were dropped before `bytes`. After an error, nothing more is
  // written to the file.
  void Add(const std::string& attempt_dir, int local_rank, bool is_stdout, int64_t gap,
           absl::string_view bytes);
  // Links to the error file of a worker, if there is one.
  void LinkErrorFile(const std::string& attempt_dir, int local_rank, const std::string& error_file);

  // Returns the first error, with the file's name, or OK.
  const absl::Status& status() const { return status_; }

 private:
  using Source = std::pair<int, bool>;  // Local rank, whether it is standard output.

  std::string attempt_dir_;
  // The files in attempt_dir_. Invalid after an error.
  std::map<Source, common::UniqueFd> files_;
  absl::Status status_;
};

}  // namespace accel::cli
