// The one table of access: which kinds of callers, and which roles, may call each method.
// coordinator/access/job_access.h decides what a caller may do to a single job, because only the
// coordinator's loop has the job. Pure (docs/decisions/0053).
#pragma once

#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "coordinator/access/caller.h"

namespace accel::coordinator {

enum class Method {
  kSubmitJob,
  kListJobs,
  kWatchJob,
  kCancelJob,
  kListNodes,
  kReadLogs,
  kAgent,
  kRelayLogs,
  kDrainNode,
  kAddToken,
  kListMembers,
  kRevoke,
  kRemoveMember,
  kWhoAmI,
  kRenew,
  kHasBlobs,
  kPutBlobs,
  kGetBlobs,
};

struct AccessRule {
  Method method;
  absl::string_view name;     // The full name of the method's descriptor.
  std::optional<Role> users;  // The least role of a user. nullopt if no user may call it.
  bool nodes;                 // True if nodes may call it.
  bool owner;                 // True if the owner, over the Unix socket, may call it.
  // Maximum number of calls in progress of one user or node (coordinator/access/call_limits.h).
  int at_once;
};

// Returns all rules.
absl::Span<const AccessRule> AccessRules();

// Returns the rule of the method. PERMISSION_DENIED: the caller may not call it. The message says
// who may call it.
absl::StatusOr<AccessRule> CheckAccess(const Caller& caller, Method method);

}  // namespace accel::coordinator
