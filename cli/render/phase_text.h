// The phase of a job for people. The coordinator may be of a later version than this command, and
// know phases that have no name here.
#pragma once

#include <string>

#include "absl/strings/str_cat.h"
#include "common/job_phase.h"
#include "proto/job.pb.h"

namespace accel::cli {

// Returns the name of the phase, or for example "PHASE 12".
inline std::string PhaseText(v1::JobPhase phase) {
  return v1::JobPhase_IsValid(phase) ? v1::JobPhase_Name(phase) : absl::StrCat("PHASE ", phase);
}

// Returns true if the job has ended, even if it is in a phase of a later version.
inline bool HasEnded(const v1::Job& job) {
  return v1::JobPhase_IsValid(job.phase()) ? common::IsFinal(job.phase()) : job.ended_unix_ms() > 0;
}

}  // namespace accel::cli
