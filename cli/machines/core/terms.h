// The settings that all machines of one launch must have in common, and those that each machine has
// for itself. Pure.
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

// Returns the spec that the serving machine submits for all machines. It is the spec of that
// machine without its variables, because each machine uses its own variables. No secret is
// therefore sent, and the name of a network interface may differ between machines. `processes` has
// the number of processes for each machine rank, or is empty.
v1::JobSpec SharedSpec(v1::JobSpec own, int machines, const std::vector<int>& processes);

// In each generation that this machine must start, sets the fields that the machine has for itself.
// These are the command with its paths, the working directory, the folder of output, and the
// variables of `own`. The ranks and the world remain those of the plan.
void UseOwnCommand(const v1::JobSpec& own, v1::NodeDesired* desired);

}  // namespace accel::cli
