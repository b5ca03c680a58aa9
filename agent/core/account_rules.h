// Decides as which Unix account a node runs a job (docs/decisions/0068). The agent decides this,
// and not the coordinator, because a stolen coordinator must not become root on the nodes. Pure.
#pragma once

#include <sys/types.h>

#include <optional>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "process/account.h"

namespace accel::agent {

// The facts about this agent on which the decision depends.
struct AccountRules {
  std::string node;         // The name of the node, for messages.
  std::string own_account;  // The account of the agent itself.
  bool is_root = false;     // If false, the agent can only run jobs as itself.
  // The coordinator is a process of the agent's own user on this machine. Its jobs may then run as
  // the agent itself, because such a coordinator already has all of the agent's rights.
  bool trusts_coordinator = false;
  uid_t least_uid = 1000;  // Accounts with lower uids belong to the system.
  // Accounts of the system that may run jobs nevertheless. May contain root.
  std::set<std::string> allowed_system_users;
};

// Returns true if a job of this account runs as the agent itself, which needs no lookup.
bool RunsAsAgent(const AccountRules& rules, const std::string& runs_as);

// Returns OK if a job may run as `account`, the entry for `runs_as` in the node's user database.
// `account` is nullopt if there is no entry. INVALID_ARGUMENT: the node refuses the job; the
// message has the node, the account and what to do.
absl::Status CheckAccount(const AccountRules& rules, const std::string& runs_as,
                          const std::optional<process::Account>& account);

// Returns the UID_MIN in the text of /etc/login.defs, or 1000 if it is missing or not a number.
uid_t LeastUid(absl::string_view login_defs);

// Returns a phrase for logs: as whom this node runs jobs.
std::string DescribeRules(const AccountRules& rules);

}  // namespace accel::agent
