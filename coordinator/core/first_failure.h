// Chooses which of the failures in a generation is its cause. When one rank fails, the others often
// fail because of it: their collectives break, or the launcher kills them. `accel status` and the
// job's exit code must name the first failure, not one that followed from it.
#pragma once

#include <optional>
#include <vector>

#include "coordinator/core/part.h"

namespace accel::coordinator {

// Maximum numbers of lines, and of bytes in a line, that a cause keeps of a worker's output.
inline constexpr int kMaxLastLines = 20;
inline constexpr int kMaxLastLineBytes = 4096;

// Returns the failure that the parts show, or nullopt if they show none. Called only while the
// generation has no cause, because the cause that was seen first is kept (invariant 2).
//
// If several failures are seen together, returns the one that most likely came first:
//
// 1. A worker that failed by itself. A kill by the out-of-memory killer belongs here.
// 2. A worker that ended because its shim died.
// 3. A worker killed by SIGTERM or SIGKILL. The launcher often sent it because another rank failed.
// 4. A lost node.
//
// Of equally likely ones, it returns that of the lowest rank.
std::optional<v1::FailureCause> FirstFailure(const v1::Job& job, const std::vector<Part>& parts);

// Returns the last lines of output, as known now, of the rank that `cause` names. Returns an empty
// list if there are none.
std::vector<std::string> LastLinesOf(const v1::FailureCause& cause, const std::vector<Part>& parts);

}  // namespace accel::coordinator
