// A node's report, judged before anything of it is believed. What an agent sends is bounded here,
// in the one place for it.
#pragma once

#include "absl/status/status.h"
#include "proto/node.pb.h"

namespace accel::coordinator {

// How many a report may have of each. An agent holds 64 generations and keeps the results of 256.
inline constexpr int kMaxReportedGenerations = 1024;
inline constexpr int kMaxReportedWorkers = 1024;  // Of one generation.
inline constexpr int kMaxReportedSockets = 1024;
inline constexpr int kMaxReportedGpus = 1024;
// Longer texts for people are cut, and of the last lines of a worker the newest are kept: a long
// message is no reason to cut a node off.
inline constexpr int kMaxReportedLines = 64;
inline constexpr int kMaxReportedTextBytes = 4096;
inline constexpr int kMaxReportedTailBytes = 16 << 10;  // All last lines of one worker.

// INVALID_ARGUMENT: a name is missing or too long. RESOURCE_EXHAUSTED: too many of something. Each
// names the field and its bound.
absl::Status CheckReport(const v1::NodeObserved& report);

void CutTexts(v1::NodeObserved* report);

}  // namespace accel::coordinator
