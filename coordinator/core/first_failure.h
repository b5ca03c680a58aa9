// Chooses which of the failures in a generation is its cause. When one rank fails, the others often
// fail because of it: their collectives break, or the launcher kills them. `accel status` and the
// job's exit code must name the first failure, not one that followed from it.
//
// Reports arrive in any order, so the failure that is reported first need not be the one that
// happened first. Each exit has a time of its node's clock, and node_clock.h says between which
// times of the coordinator's clock it lies (docs/decisions/0044). While a generation is being
// stopped, a failure that was certainly earlier replaces its cause.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "coordinator/core/part.h"

namespace accel::coordinator {

// Maximum numbers of lines, and of bytes in a line, that a cause keeps of a worker's output.
inline constexpr int kMaxLastLines = 20;
inline constexpr int kMaxLastLineBytes = 4096;
// Maximum number of kinds of later failures that are listed.
inline constexpr int kMaxLaterKinds = 8;

struct FoundFailure {
  v1::FailureCause cause;
  TimeRange when;  // Both times are finite.
};

// Returns the failure that the parts show, or nullopt if they show none. Called only while the
// generation has no cause.
//
// Of several failures, those that were certainly later than another one are left out. Of the
// others, returns the one that most likely came first:
//
// 1. A worker that failed by itself. A kill by the out-of-memory killer belongs here.
// 2. A worker that ended because its shim died.
// 3. A worker killed by SIGTERM or SIGKILL. The launcher often sent it because another rank failed.
// 4. A lost node.
//
// Of equally likely ones, returns the earliest, and of equally early ones that of the lowest rank.
std::optional<FoundFailure> FirstFailure(const JobEntry& entry, const std::vector<Part>& parts,
                                         absl::Time now);

// Returns a failure that came before the cause of the generation, which is being stopped, or
// nullopt if none is known:
//
// * A failure that was certainly earlier. Ranks that the stop itself has ended never are, because
//   the stop came after the cause.
// * A lost node, if a rank of another node is the cause and the lost node has not reported since.
//   A node that lives reports at least every two seconds, so the rank most likely failed because
//   its peer had gone.
//
// Chooses among several as above. A deadline that has passed is never replaced.
std::optional<FoundFailure> EarlierFailure(const JobEntry& entry, const std::vector<Part>& parts,
                                           absl::Time now);

// Returns the failures other than the cause. Leaves out ranks that SIGTERM or SIGKILL ended,
// because that is how a generation is stopped.
v1::LaterFailures CountLater(const JobEntry& entry, const std::vector<Part>& parts);

// Returns the last lines of output, as known now, of the rank that `cause` names. Returns an empty
// list if there are none.
std::vector<std::string> LastLinesOf(const v1::FailureCause& cause, const std::vector<Part>& parts);

}  // namespace accel::coordinator
