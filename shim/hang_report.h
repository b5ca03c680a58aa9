// The words about a rank that hangs: its exit record, and the record of its threads, which is added
// to its output (docs/decisions/0097).
#pragma once

#include <sys/types.h>

#include <string>

#include "absl/time/time.h"
#include "shim/core/messages.h"
#include "shim/core/progress.h"

namespace accel::shim {

// Maximum size of the record of a process in bytes.
inline constexpr size_t kMaxHangRecordBytes = 16 << 10;

// Returns a kHung fact: "has made no progress for 30s (its last step ended at 2026-11-29 06:20:05
// UTC; a signal has stopped it)". `now` is of the monotonic clock, as in `hang`. `wall` is the time
// for people.
ExitFact HungFact(const Hang& hang, absl::Time now, absl::Time wall);

// Returns lines that begin with "accel: ": the sentence `why`, and what the threads of `pid` do
// now. At most kMaxHangRecordBytes.
std::string HangRecord(const std::string& why, pid_t pid);

}  // namespace accel::shim
