#include "agent/core/account_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status_matchers.h"

namespace accel::agent {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

AccountRules Root() {
  AccountRules rules;
  rules.node = "n7";
  rules.own_account = "root";
  rules.is_root = true;
  return rules;
}

process::Account With(uid_t uid) { return {.name = "ann", .uid = uid, .gid = 1, .groups = {1}}; }

std::string WhyNot(const AccountRules& rules, const std::string& name,
                   const std::optional<process::Account>& account) {
  const absl::Status status = CheckAccount(rules, name, account);
  EXPECT_TRUE(status.ok() || absl::IsInvalidArgument(status)) << status;
  return std::string(status.message());
}

TEST(AccountRulesTest, AnOrdinaryAccountIsAllowed) {
  EXPECT_OK(CheckAccount(Root(), "ann", With(1000)));
  EXPECT_OK(CheckAccount(Root(), "ann", With(2'000'000'000)));
}

TEST(AccountRulesTest, RootAndTheSystemAreRefused) {
  EXPECT_THAT(WhyNot(Root(), "root", With(0)),
              AllOf(HasSubstr("node n7 runs no job as root (uid 0)"),
                    HasSubstr("--allow_system_users root")));
  EXPECT_THAT(WhyNot(Root(), "toor", With(0)), HasSubstr("toor (uid 0)"));
  for (const uid_t uid : {1u, 5u, 999u, 65534u, ~0u}) {
    EXPECT_THAT(WhyNot(Root(), "daemon", With(uid)), HasSubstr("an account of the system")) << uid;
  }
}

TEST(AccountRulesTest, AnUnknownAccountIsNamedWithItsNode) {
  EXPECT_THAT(WhyNot(Root(), "ann", std::nullopt), HasSubstr("node n7 has no account ann"));
  EXPECT_THAT(WhyNot(Root(), "a\nb", std::nullopt), HasSubstr("a\\x0ab"));
  EXPECT_LT(WhyNot(Root(), std::string(100'000, 'a'), std::nullopt).size(), 400u);
  EXPECT_THAT(WhyNot(Root(), "", std::nullopt), HasSubstr("names no account"));
}

TEST(AccountRulesTest, AnAccountOfTheSystemCanBeAllowedByName) {
  AccountRules rules = Root();
  rules.allowed_system_users = {"daemon", "root"};
  EXPECT_OK(CheckAccount(rules, "daemon", With(1)));
  EXPECT_OK(CheckAccount(rules, "root", With(0)));
  EXPECT_THAT(WhyNot(rules, "bin", With(2)), HasSubstr("bin"));
}

TEST(AccountRulesTest, UidMinOfTheNodeDecides) {
  AccountRules rules = Root();
  rules.least_uid = 500;
  EXPECT_OK(CheckAccount(rules, "ann", With(500)));
  EXPECT_FALSE(CheckAccount(rules, "ann", With(499)).ok());
}

TEST(AccountRulesTest, AnAgentThatIsNotRootRunsEverythingAsItself) {
  AccountRules rules;
  rules.own_account = "accel";
  for (const char* name : {"", "ann", "root", "accel"}) EXPECT_TRUE(RunsAsAgent(rules, name));
  EXPECT_THAT(DescribeRules(rules), HasSubstr("all jobs as accel"));
}

TEST(AccountRulesTest, NothingChangesHandsWithinOneUser) {
  AccountRules rules = Root();
  for (const char* name : {"", "root", "ann"}) EXPECT_FALSE(RunsAsAgent(rules, name)) << name;
  rules.trusts_coordinator = true;
  EXPECT_FALSE(RunsAsAgent(rules, "")) << "it may be an ordinary user's job of an earlier version";
  EXPECT_TRUE(RunsAsAgent(rules, "root"));
  EXPECT_FALSE(RunsAsAgent(rules, "ann")) << "another user's job changes hands";
}

TEST(AccountRulesTest, ReadsLoginDefs) {
  EXPECT_EQ(LeastUid("# UID_MIN 5\nUID_MIN\t\t\t  500\nUID_MAX 60000\n"), 500u);
  EXPECT_EQ(LeastUid(""), 1000u);
  EXPECT_EQ(LeastUid("UID_MIN many"), 1000u);
  EXPECT_EQ(LeastUid("SYS_UID_MIN 100\n"), 1000u);
}

}  // namespace
}  // namespace accel::agent
