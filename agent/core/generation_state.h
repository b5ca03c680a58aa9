// The states of one generation on one node, as the agent reports them:
//
// clang-format off
//   (desired) ─▶ STARTING ─▶ RUNNING ─▶ STOPPING ─▶ ENDED
//
//   STARTING ─▶ RUNNING    every exec is done
//   STARTING ─▶ STOPPING   asked to stop, or a rank could not start
//   RUNNING  ─▶ STOPPING   asked to stop, or all workers have gone
//   any      ─▶ ENDED      no process is left; nothing was started; the shim has died
// clang-format on
//
// No step leads back, and ENDED is final. The agent keeps the record of a generation until the
// coordinator lists the generation under `forget`.
#pragma once

#include "proto/node.pb.h"

namespace accel::agent {

using GenerationState = v1::ObservedGeneration::State;

// Returns true if a generation may go directly from `from` to `to`. Returns false if they are
// the same state.
constexpr bool IsLegalStep(GenerationState from, GenerationState to) {
  switch (from) {
    case v1::ObservedGeneration::STARTING:
      return to == v1::ObservedGeneration::RUNNING || to == v1::ObservedGeneration::STOPPING ||
             to == v1::ObservedGeneration::ENDED;
    case v1::ObservedGeneration::RUNNING:
      return to == v1::ObservedGeneration::STOPPING || to == v1::ObservedGeneration::ENDED;
    case v1::ObservedGeneration::STOPPING:
      return to == v1::ObservedGeneration::ENDED;
    default:
      return false;
  }
}

}  // namespace accel::agent
