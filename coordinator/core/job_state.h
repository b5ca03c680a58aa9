// The phases of a job and the transitions between them. step.cc decides when a job
// changes its phase.
//
// clang-format off
//   PENDING ─placed─▶ STARTING ─exec done on every rank─▶ RUNNING
//      ▲                  │ deadline, failure, node loss,    │ all exit 0, failure,
//      │                  ▼ cancel, vanished spare socket    ▼ node loss, cancel, time limit
//      └─ RESTARTING ◀── STOPPING(next) ──▶ SUCCEEDED | FAILED | CANCELLED
// clang-format on
//
// A job in PENDING or RESTARTING has no processes, so a cancel ends it without STOPPING. A PENDING
// job also fails without STOPPING, if its time limit runs out or it can never be placed. A
// RESTARTING job whose time limit runs out is queued first.
#pragma once

#include <string>

#include "proto/job.pb.h"

namespace accel::coordinator {

// Returns true if a job in `from` may change to `to`.
bool IsLegal(v1::JobPhase from, v1::JobPhase to);

// Returns true in the phases in which a generation holds nodes: STARTING, RUNNING, STOPPING.
bool HoldsNodes(v1::JobPhase phase);

// Changes the phase of a job, which no other function does except SubmitJob() and Recover(). Checks
// that the transition is legal. Sets the reason, raises the version, and clears `next` unless the
// job is now STOPPING.
void Transition(v1::Job* job, v1::JobPhase to, std::string reason);

}  // namespace accel::coordinator
