// The Unix account of a job's processes, as the coordinator decides it. Each agent decides again
// whether its node allows that account (agent/core/account_rules.h). Pure.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordinator/access/caller.h"

namespace accel::coordinator {

// Returns OK if the name may be the account of a user's jobs. INVALID_ARGUMENT: it is root, or no
// name of an account; the message begins with `what`.
absl::Status CheckAccountName(const std::string& what, const std::string& name);

// Returns the account for a job of `caller`. `own` is the account that the caller's record names,
// or "" if it names none; `wish` is what the request names, or "". Empty for callers within the
// process, whose jobs do not change hands. PERMISSION_DENIED: a user who is no administrator names
// another account. INVALID_ARGUMENT: see CheckAccountName().
absl::StatusOr<std::string> ChooseAccount(const Caller& caller, const std::string& own,
                                          const std::string& wish);

}  // namespace accel::coordinator
