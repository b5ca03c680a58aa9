#include "agent/core/account_rules.h"

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/printable.h"

namespace accel::agent {
namespace {

constexpr uid_t kUsualLeastUid = 1000;
// The uid that the kernel and NFS show for every owner that has no uid here. Several users may
// appear with this uid, so no job may run as it.
constexpr uid_t kOverflowUid = 65534;
constexpr size_t kMaxShownBytes = 128;

std::string Shown(const std::string& name) {
  return common::Shortened(common::Printable(name), kMaxShownBytes);
}

absl::Status Refuse(const AccountRules& rules, const std::string& why) {
  return absl::InvalidArgumentError(absl::StrCat("node ", Shown(rules.node), " ", why));
}

}  // namespace

bool RunsAsAgent(const AccountRules& rules, const std::string& runs_as) {
  if (!rules.is_root) return true;
  return rules.trusts_coordinator && runs_as == rules.own_account;
}

absl::Status CheckAccount(const AccountRules& rules, const std::string& runs_as,
                          const std::optional<process::Account>& account) {
  if (runs_as.empty()) {
    return Refuse(rules,
                  "runs jobs as the users who submit them, and this job names no account; it was "
                  "submitted to an older coordinator, so submit it again");
  }
  const std::string name = Shown(runs_as);
  if (!account.has_value()) {
    return Refuse(rules, absl::StrCat("has no account ", name,
                                      "; make one there, or name another with --runs_as"));
  }
  if (rules.allowed_system_users.contains(runs_as)) return absl::OkStatus();
  const std::string uid = absl::StrCat(name, " (uid ", account->uid, ")");
  const std::string allow = absl::StrCat("or start its agent with --allow_system_users ", name);
  if (account->uid == 0) {
    return Refuse(rules, absl::StrCat("runs no job as ", uid,
                                      "; name an ordinary account with --runs_as, ", allow));
  }
  if (account->uid < rules.least_uid || account->uid == kOverflowUid ||
      account->uid == static_cast<uid_t>(-1)) {
    return Refuse(rules,
                  absl::StrCat("runs no job as ", uid, ", which is an account of the system; ",
                               "name an ordinary one with --runs_as, ", allow));
  }
  return absl::OkStatus();
}

uid_t LeastUid(absl::string_view login_defs) {
  for (absl::string_view line : absl::StrSplit(login_defs, '\n')) {
    const std::vector<absl::string_view> words =
        absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
    uid_t least = 0;
    if (words.size() >= 2 && words[0] == "UID_MIN" && absl::SimpleAtoi(words[1], &least)) {
      return least;
    }
  }
  return kUsualLeastUid;
}

std::string DescribeRules(const AccountRules& rules) {
  if (!rules.is_root) return absl::StrCat("all jobs as ", rules.own_account);
  return rules.trusts_coordinator
             ? absl::StrCat("jobs as their users, and those of ", rules.own_account, " too")
             : "jobs as their users";
}

}  // namespace accel::agent
