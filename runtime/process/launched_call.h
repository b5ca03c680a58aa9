// The files of a call of accel::launch(). In them, the workers of the call hand over their
// results, and workers of a later call find the results of earlier calls. Each call has a
// folder, CALL below:
//
// clang-format off
//   CALL/result.RANK             the bytes that the function returned
//   CALL/error.GENERATION.RANK   the text of the exception that it threw
//   CALL/end.json                the finished job, written by accel launch
//   CALL/failed                  why the call failed as a whole: rank, exit code, text
// clang-format on
//
// Not thread-safe.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "accel/errors.h"

namespace accel::runtime {

class LaunchedCall {
 public:
  explicit LaunchedCall(std::string folder) : folder_(std::move(folder)) {}

  std::string end_file() const { return folder_ + "/end.json"; }

  // Write a file as a whole, so that a reader sees all of it or none. Throw std::runtime_error if
  // it cannot be written.
  void keep_result(int rank, const std::string& bytes) const;
  void keep_error(const std::string& generation, int rank, const std::string& text) const;
  void keep_failure(const LaunchError& error) const;

  // Return what was kept, or nullopt if nothing was.
  std::optional<std::string> result(int rank) const;
  std::optional<LaunchError> failure() const;

  // Returns the results of `world` ranks. Throws LaunchError if one is missing.
  std::vector<std::string> results(int world) const;

  // Returns the first error of an `accel launch` that exited with this code, which is not 0.
  LaunchError first_error(int exit_code) const;

 private:
  std::string folder_;
};

}  // namespace accel::runtime
