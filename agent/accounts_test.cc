#include "agent/accounts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>

#include "absl/synchronization/notification.h"
#include "common/status_matchers.h"

namespace accel::agent {
namespace {

using ::testing::HasSubstr;

process::Account Ann() { return {"ann", 1000, 1001, {1001}, "/home/ann", "/bin/sh"}; }

class AccountsTest : public ::testing::Test {
 protected:
  Accounts::Options Options(Accounts::LookUp look_up) {
    Accounts::Options options;
    options.rules.node = "n7";
    options.rules.own_account = "root";
    options.rules.is_root = true;
    options.look_up = std::move(look_up);
    options.clock = common::SteadyClock();
    options.second_look = absl::ZeroDuration();
    return options;
  }

  // Waits for the end of a lookup.
  static void Await(const Accounts& accounts) {
    pollfd readable = {accounts.wake_fd(), POLLIN, 0};
    ASSERT_EQ(poll(&readable, 1, 10'000), 1);
  }
};

TEST_F(AccountsTest, LooksUpOnAnotherThreadAndKeepsTheAnswer) {
  std::atomic<int> lookups = 0;
  Accounts accounts(Options([&](const std::string&) {
    ++lookups;
    return Ann();
  }));
  ASSERT_FALSE(accounts.IsKnown("ann"));
  EXPECT_TRUE(absl::IsUnavailable(accounts.Find("ann").status()));
  EXPECT_NE(accounts.wake_at(), absl::InfiniteFuture());
  Await(accounts);
  ASSERT_TRUE(accounts.IsKnown("ann"));
  EXPECT_EQ(accounts.Find("ann").value()->uid, 1000u);
  EXPECT_EQ(accounts.wake_at(), absl::InfiniteFuture());
  EXPECT_TRUE(accounts.IsKnown("ann"));
  EXPECT_EQ(lookups, 1);
}

TEST_F(AccountsTest, AnAnswerCountsForALimitedTime) {
  std::atomic<int> lookups = 0;
  Accounts::Options options = Options([&](const std::string&) {
    ++lookups;
    return Ann();
  });
  options.lifetime = absl::ZeroDuration();
  Accounts accounts(std::move(options));
  ASSERT_FALSE(accounts.IsKnown("ann"));
  Await(accounts);
  EXPECT_FALSE(accounts.IsKnown("ann"));
  EXPECT_EQ(accounts.Find("ann").value()->uid, 1000u) << "until the next answer, for what runs";
  EXPECT_TRUE(accounts.HasAnswer("ann"));
  Await(accounts);
  EXPECT_EQ(lookups, 2);
}

// A user database that is not up yet may say that an account does not exist.
TEST_F(AccountsTest, AMissingAccountIsAskedForAgain) {
  std::atomic<int> lookups = 0;
  Accounts::Options options = Options([&](const std::string&) -> std::optional<process::Account> {
    if (++lookups % 2 == 1) return std::nullopt;
    return Ann();
  });
  Accounts accounts(std::move(options));
  ASSERT_FALSE(accounts.IsKnown("ann"));
  EXPECT_FALSE(accounts.HasAnswer("ann"));
  Await(accounts);
  ASSERT_TRUE(accounts.IsKnown("ann"));
  EXPECT_OK(accounts.Find("ann"));
  EXPECT_EQ(lookups, 2);
}

TEST_F(AccountsTest, AFailureCountsForAShortTime) {
  Accounts::Options options =
      Options([](const std::string&) -> std::optional<process::Account> { return std::nullopt; });
  options.failure_lifetime = absl::ZeroDuration();
  Accounts accounts(std::move(options));
  ASSERT_FALSE(accounts.IsKnown("ann"));
  Await(accounts);
  EXPECT_FALSE(accounts.IsKnown("ann")) << "it is looked up again";
  Await(accounts);
}

TEST_F(AccountsTest, ADatabaseThatHangsIsGivenUp) {
  auto release = std::make_shared<absl::Notification>();
  Accounts::Options options = Options([release](const std::string&) {
    release->WaitForNotification();
    return Ann();
  });
  options.timeout = absl::Milliseconds(20);
  Accounts accounts(std::move(options));
  ASSERT_FALSE(accounts.IsKnown("ann"));
  while (common::SteadyClock()->Now() < accounts.wake_at()) {
    poll(nullptr, 0, 1);
  }
  ASSERT_TRUE(accounts.IsKnown("ann"));
  EXPECT_THAT(accounts.Find("ann").status().message(), HasSubstr("no answer within 20ms"));
  EXPECT_TRUE(absl::IsUnavailable(accounts.Find("ann").status()));
  release->Notify();
}

TEST_F(AccountsTest, LooksNothingUpThatRunsAsTheAgent) {
  Accounts::Options options = Options([](const std::string&) {
    ADD_FAILURE() << "looked up";
    return std::nullopt;
  });
  options.rules.trusts_coordinator = true;
  Accounts accounts(std::move(options));
  EXPECT_TRUE(accounts.IsKnown("root"));
  EXPECT_EQ(accounts.Find("root").value(), std::nullopt);
  EXPECT_TRUE(accounts.IsKnown(""));
  EXPECT_FALSE(accounts.Find("").ok());
}

TEST_F(AccountsTest, RefusesByTheRules) {
  Accounts accounts(Options([](const std::string& name) -> std::optional<process::Account> {
    if (name != "root") return std::nullopt;
    return process::Account{.name = "root"};
  }));
  for (const char* name : {"root", "nobody_here"}) {
    ASSERT_FALSE(accounts.IsKnown(name));
    while (!accounts.IsKnown(name)) Await(accounts);
    EXPECT_TRUE(absl::IsInvalidArgument(accounts.Find(name).status())) << name;
  }
  EXPECT_TRUE(accounts.IsKnown(std::string(100'000, 'x'))) << "bounded before it is looked up";
  EXPECT_FALSE(accounts.Find(std::string(100'000, 'x')).ok());
}

TEST_F(AccountsTest, ReadsTheUserDatabase) {
  const auto root = LookUpAccount("root");
  ASSERT_OK(root);
  ASSERT_TRUE(root->has_value());
  EXPECT_EQ((*root)->uid, 0u);
  EXPECT_FALSE((*root)->groups.empty());
  EXPECT_EQ(*LookUpAccount("no_such_account_here"), std::nullopt);
}

}  // namespace
}  // namespace accel::agent
