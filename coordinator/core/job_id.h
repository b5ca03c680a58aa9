// Names for jobs (docs/decisions/0009).
//
// Eight characters of Crockford's base 32 in lower case (no i, l, o, u), for example `a0x2k9fq`:
// the moment of the submit in units of 1/1024 s since 2025, so ids sort by age, and a coordinator
// that has lost its memory does not give one out again (unless it was started within the seconds by
// which more than 1024 submits a second ran ahead). The first character is a letter, so that no
// tool takes an id for a number; from 2048 on ids have nine characters.
#pragma once

#include <cstdint>

#include "absl/time/time.h"
#include "common/ids.h"

namespace accel::coordinator {

class JobIdIssuer {
 public:
  // `wall` is the wall clock; ids rise even if it does not.
  common::JobId Next(absl::Time wall);

  // Ids issued from now on are greater than this one.
  void Skip(const common::JobId& known);

 private:
  uint64_t last_ = 0;
};

}  // namespace accel::coordinator
