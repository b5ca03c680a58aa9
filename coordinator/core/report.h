// Validates a report of a node and bounds its texts, before the coordinator uses any of it. No
// other file bounds what an agent sends, apart from its size on the wire (coordinator/wire.h).
#pragma once

#include "absl/status/status.h"
#include "coordinator/core/node_report.h"

namespace accel::coordinator {

// Maximum numbers in one report. An agent runs at most 64 generations and keeps the results of 256.
inline constexpr int kMaxReportedGenerations = 1024;
inline constexpr int kMaxReportedWorkers = 1024;  // In one generation.
inline constexpr int kMaxReportedSockets = 1024;
inline constexpr int kMaxReportedGpus = 1024;
inline constexpr int kMaxReportedAddresses = 64;
// Bounds of texts for people. A text that is too long is cut, and only the newest of a worker's
// last lines are kept. The report is not rejected, because a long message is no reason to
// disconnect a node.
inline constexpr int kMaxReportedLines = 64;
inline constexpr int kMaxReportedTextBytes = 4096;
inline constexpr int kMaxReportedTailBytes = 16 << 10;  // All last lines of one worker together.

// Checks all that the report has. INVALID_ARGUMENT: a name is missing, a text is too long, or an
// address is not numeric. RESOURCE_EXHAUSTED: a list is too long. Each message names the field, and
// the bound if one is exceeded.
absl::Status CheckReport(const NodeReport& report);

// Cuts the texts for people to the bounds above.
void CutTexts(v1::NodeObserved* report);

}  // namespace accel::coordinator
