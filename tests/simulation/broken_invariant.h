// The error of an invariant that does not hold.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/ids.h"

namespace accel::simulation {

// Returns FAILED_PRECONDITION. `what` says what was found.
inline absl::Status Broken(absl::string_view what) { return absl::FailedPreconditionError(what); }

// Returns, for example, "generation 2 of job a".
inline std::string Name(const common::GenerationId& id) {
  return absl::StrCat("generation ", id.generation, " of job ", id.job.value());
}

}  // namespace accel::simulation
