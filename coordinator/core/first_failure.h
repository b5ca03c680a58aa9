// Chooses the failure that is the cause of a generation's end. When one rank fails, others often
// fail because of it: their collectives break, or the launcher kills them. `accel status` and the
// job's exit code must name the first failure, not one that followed from it.
//
// Reports arrive in any order, so the failure that is reported first need not be the one that
// happened first. Each exit has a time of its node's clock. node_clock.h converts it into a range
// of times of the coordinator's clock (docs/decisions/0044). While a generation is being stopped, a
// failure that was certainly earlier replaces the cause.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
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

// Returns the first failure that the parts show, or nullopt if they show none. Called only while
// the generation has no cause.
//
// Leaves out failures that were certainly later than another failure. From the rest, returns the
// one that most likely came first:
//
// 1. A worker that failed by itself. A kill by the out-of-memory killer belongs here.
// 2. A worker that ended because its shim died.
// 3. A worker killed by SIGTERM or SIGKILL. The launcher often sent it because another rank failed.
// 4. A lost node.
//
// Of equally likely failures, returns the earliest one. Of equally early ones, returns that of
// the lowest rank.
std::optional<FoundFailure> FirstFailure(const JobEntry& entry, absl::Span<const Part> parts,
                                         absl::Time now);

// Returns a failure that came before the cause, while the generation is being stopped. Returns
// nullopt if there is no such failure, or if the cause is a deadline that has passed. Two kinds
// of failures count:
//
// * A failure that was certainly earlier. A rank that the stop itself has ended is never one,
//   because the stop came after the cause.
// * A lost node that has not reported since the cause. The cause must be the exit of a rank on
//   another node, and not an out-of-memory kill. A live node reports at least once per Heartbeat()
//   (cluster_state.h), so the rank most likely failed because its peer had gone.
//
// Of several such failures, chooses one as FirstFailure() does.
std::optional<FoundFailure> EarlierFailure(const JobEntry& entry, absl::Span<const Part> parts,
                                           absl::Time now);

// Counts the failed ranks other than the cause. Leaves out ranks that SIGTERM or SIGKILL ended,
// because that is how a generation is stopped. An out-of-memory kill is counted.
v1::LaterFailures CountLater(const JobEntry& entry, absl::Span<const Part> parts);

// Returns the last lines of output, as known now, of the rank that `cause` names. Returns an empty
// list if there are none.
std::vector<std::string> LastLinesOf(const v1::FailureCause& cause, absl::Span<const Part> parts);

}  // namespace accel::coordinator
