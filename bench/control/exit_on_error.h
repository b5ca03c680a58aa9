// Errors of the load programs. A figure that was measured after an error is wrong, so each of them
// ends the program.
#pragma once

#include <cerrno>  // program_invocation_short_name
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "absl/status/statusor.h"

namespace accel::bench {

inline void Check(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s: %s\n", program_invocation_short_name, status.ToString().c_str());
  std::exit(1);
}

template <typename T>
T Check(absl::StatusOr<T> value) {
  Check(value.status());
  return *std::move(value);
}

}  // namespace accel::bench
