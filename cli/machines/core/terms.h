// What the machines of one launch must have in common, and what each has for itself. Pure.
#pragma once

#include <vector>

#include "cli/config/core/launch_plan.h"
#include "proto/job.pb.h"
#include "proto/node.pb.h"
#include "proto/run.pb.h"

namespace accel::cli {

// Returns the settings that must be the same on all machines: the words of the command, the numbers
// of processes, and the settings of training. `words` are the program and its arguments as typed,
// because paths may differ between machines. User variables (--env) are left out, because they may
// be secrets.
std::vector<v1::RunTerm> TermsOf(const std::vector<std::string>& words, const LaunchPlan& plan,
                                 bool counts_itself);

// Returns the spec that the machine that serves submits for all machines. It is the spec of that
// machine without its variables, because each machine has its own: so no secret travels, and an
// interface has the name that it has there. `processes` has the number for each machine rank, or is
// empty.
v1::JobSpec SharedSpec(v1::JobSpec own, int machines, const std::vector<int>& processes);

// Replaces what this machine has for itself in each generation that it must start: the command with
// its paths, the working directory, the folder of output, and the variables of `own`. The ranks and
// the world remain those of the plan.
void UseOwnCommand(const v1::JobSpec& own, v1::NodeDesired* desired);

}  // namespace accel::cli
