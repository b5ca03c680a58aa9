// The control group of a whole job whose processes belong to another user than the agent. The user
// owns the group and can make groups for generations in it. Only root can change its limits or kill
// through it (docs/decisions/0070).
//
// clang-format off
//   BASE/user-JOB-INSTANCE/        made by the agent for the user
//   BASE/user-JOB-INSTANCE/shim    the shim is born here
//   BASE/user-JOB-INSTANCE/gN      made by the shim, for the workers of generation N
// clang-format on
#pragma once

#include <cstdint>
#include <string>

#include "process/account.h"
#include "process/cgroup.h"

namespace accel::process {

// Makes the group `path`, v2 or v1, and gives it to the user. If the group has a pids controller,
// it gets a limit for `max_processes` of the job's and for those of its shim. 0 is no limit. If the
// group cannot be made, removes it again and returns false.
bool MakeJobCgroup(const std::string& path, const Account& user, int64_t max_processes);

// Makes the group of the shim in its job's group, and returns it. Returns Cgroup() if it
// cannot be made.
Cgroup MakeShimCgroup(const std::string& job_path, const Account& user);

// Returns the path of a generation's group in its job's group, or "" if `job_path` is empty.
std::string GenerationCgroup(const std::string& job_path, common::Generation generation);

}  // namespace accel::process
