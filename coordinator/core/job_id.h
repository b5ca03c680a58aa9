// Issues job ids (docs/decisions/0009).
//
// An id has eight characters of Crockford's base 32 in lower case (no i, l, o, u), for example
// `a0x2k9fq`. It is the time of the submit in units of 1/1024 s since 2025, so ids sort by age. A
// coordinator that has lost its store therefore does not issue an id twice. There is one exception.
// At more than 1024 submits a second, ids run ahead of the clock, and the coordinator may restart
// before the clock has caught up. The first character is a letter, so that no tool takes an id for
// a number. From the year 2048 on, ids have nine characters.
#pragma once

#include <cstdint>

#include "absl/time/time.h"
#include "common/ids.h"

namespace accel::coordinator {

// The source of ids of one coordinator. Not thread-safe.
class JobIdIssuer {
 public:
  // Returns a new id for the time `wall`. Each id is greater than all earlier ones, even if the
  // wall clock was set back.
  common::JobId Next(absl::Time wall);

  // Makes sure that ids issued from now on are greater than `known`. Ignores text that is no id.
  void Skip(const common::JobId& known);

 private:
  uint64_t last_ = 0;
};

}  // namespace accel::coordinator
