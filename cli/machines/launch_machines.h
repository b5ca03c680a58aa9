// `accel launch` on several machines, with no other program running: the command of each machine
// calls this once. One of them serves (cli/machines/meet.h): it has the coordinator of the run, and
// the others connect to it. Each has an agent, which starts and stops the workers of its machine,
// and relays their output to its own terminal.
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
  bool counts_itself = false;      // The user gave the number of processes of each machine.
  v1::JobSpec spec;                // The spec of this machine.
};

// Runs the launch to its end. Returns the exit code. Errors, by cause: no secret, or another one
// than the other machines have; a machine with other settings; a machine too many; not all machines
// came in time; a machine is gone.
absl::StatusOr<int> LaunchOnMachines(const MachinesLaunch& launch, const Workplace& workplace,
                                     const Console& console);

}  // namespace accel::cli
