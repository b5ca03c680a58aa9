// Decides the Unix account of a job's processes. Each agent then decides whether its node allows
// that account (agent/core/account_rules.h). Pure.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordinator/access/caller.h"

namespace accel::coordinator {

// Checks that the name may be the account of a user's jobs. INVALID_ARGUMENT: it is root, or not a
// valid name (security::CheckPrincipalName()). The message begins with `what`.
absl::Status CheckAccountName(const std::string& what, const std::string& name);

// Returns the account for a job of `caller`. `own` is the account in the caller's record, or "".
// `wish` is the account in the request, or "". Without a wish, returns `own` or else the caller's
// name. Callers within the process have no name, so their jobs get an empty account.
//
// PERMISSION_DENIED: a user who is not an administrator wishes for another account.
// INVALID_ARGUMENT: see CheckAccountName().
absl::StatusOr<std::string> ChooseAccount(const Caller& caller, const std::string& own,
                                          const std::string& wish);

}  // namespace accel::coordinator
