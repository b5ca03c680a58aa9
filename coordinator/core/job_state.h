// The phases of a job and the steps between them.
//
// clang-format off
//   PENDING ─placed─▶ STARTING ─exec done on every rank─▶ RUNNING
//      ▲                  │ deadline, failure, node loss,    │ all exit 0, failure,
//      │                  ▼ cancel, vanished spare socket    ▼ node loss, cancel, time limit
//      └─ RESTARTING ◀── STOPPING(next) ──▶ SUCCEEDED | FAILED | CANCELLED
// clang-format on
//
// A job that holds no generation (PENDING, RESTARTING) is cancelled without STOPPING, and fails
// without it if its time limit runs out in the queue or if it can never be placed.
#pragma once

#include <string>

#include "proto/job.pb.h"

namespace accel::coordinator {

bool IsLegal(v1::JobPhase from, v1::JobPhase to);

// STARTING, RUNNING, STOPPING: a generation holds nodes.
bool HoldsNodes(v1::JobPhase phase);

// The one place that changes a job's phase. The step must be legal (checked). Sets the reason and
// the version; `next` is cleared unless the job is STOPPING.
void Transition(v1::Job* job, v1::JobPhase to, std::string reason);

}  // namespace accel::coordinator
