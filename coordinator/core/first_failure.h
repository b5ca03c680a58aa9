// Which failure of a generation is its cause.
#pragma once

#include <optional>
#include <vector>

#include "coordinator/core/part.h"

namespace accel::coordinator {

// Bounds on what a cause keeps of a worker's output.
inline constexpr int kMaxLastLines = 20;
inline constexpr int kMaxLastLineBytes = 4096;

// The failure that the parts show, if any. Whoever sees one first keeps it (invariant 2), so this
// is asked while none is known. Of several that came to light together, the likeliest origin: a
// worker that failed by itself before one that was ended with its shim, before one killed by TERM
// or KILL (often by the launcher, because another had failed; the out-of-memory killer's are
// origins), before a lost node; then the lowest rank.
std::optional<v1::FailureCause> FirstFailure(const v1::Job& job, const std::vector<Part>& parts);

// The last lines of output of the rank that `cause` names, as known now; empty if there are none.
std::vector<std::string> LastLinesOf(const v1::FailureCause& cause, const std::vector<Part>& parts);

}  // namespace accel::coordinator
