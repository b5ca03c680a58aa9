// Runs `accel launch` on several machines without any daemon. The user starts the command on each
// machine. One of the machines serves (cli/machines/meet.h): it has the coordinator of the run, and
// the other machines connect to it. Each machine has an agent, which starts and stops the workers
// of this machine. Each command shows the output of its own machine.
//
// clang-format off
//   machine that serves:   coordinator ◀─ in memory ─ agent ─▶ shim ─▶ workers
//                             ▲  RunHub: who is here, why the run ends
//   other machines:         gRPC, mutual TLS ◀──────── agent ─▶ shim ─▶ workers
// clang-format on
//
// The run ends on all machines if it ends on one of them: docs/several-machines.md has the rules.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/config/core/launch_plan.h"
#include "cli/config/core/meeting_place.h"
#include "cli/console.h"
#include "cli/workplace.h"
#include "proto/job.pb.h"

namespace accel::cli {

struct MachinesLaunch {
  MeetingPlace place;
  LaunchPlan plan;
  std::vector<std::string> words;  // The command as typed.
  // The number of processes of each machine was given by the user.
  bool counts_itself = false;
  v1::JobSpec spec;  // The spec of this machine.
};

// Runs the launch to its end. Returns the exit code. Causes of errors: there is no secret, or the
// machines have different secrets; a machine has other settings; there are too many machines; not
// all machines came in time; a machine is gone.
absl::StatusOr<int> LaunchOnMachines(const MachinesLaunch& launch, const Workplace& workplace,
                                     const Console& console);

}  // namespace accel::cli
