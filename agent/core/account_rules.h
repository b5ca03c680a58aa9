// Decides as which Unix account a node runs a job (docs/decisions/0068). The agent decides this by
// itself, because a stolen coordinator must not become root on the nodes. Pure.
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

// The facts about this agent that decide.
struct AccountRules {
  std::string node;         // The name of the node, for messages.
  std::string own_account;  // The account of the agent itself.
  bool is_root = false;     // If false, the agent can only run jobs as itself.
  // The coordinator is a process of the agent's own user on this machine. It can do everything that
  // the agent can, so nothing changes hands.
  bool trusts_coordinator = false;
  uid_t least_uid = 1000;  // Accounts with lower uids belong to the system.
  // Accounts of the system that may run jobs nevertheless, root among them.
  std::set<std::string> allowed_system_users;
};

// Returns true if a job of this account runs as the agent itself. No account is looked up then.
bool RunsAsAgent(const AccountRules& rules, const std::string& runs_as);

// Returns OK if a job may run as `account`, which the node's user database has for `runs_as`.
// nullopt: it has none. INVALID_ARGUMENT: the node refuses the job; the message names the node, the
// account and what to do.
absl::Status CheckAccount(const AccountRules& rules, const std::string& runs_as,
                          const std::optional<process::Account>& account);

// Returns UID_MIN of the text of /etc/login.defs. 1000 if it is missing or no number.
uid_t LeastUid(absl::string_view login_defs);

// Returns a phrase for logs: as whom this node runs jobs.
std::string DescribeRules(const AccountRules& rules);

}  // namespace accel::agent
