// Jobs of other users than the agent's, with an account database of the test.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "absl/synchronization/notification.h"
#include "agent/agent_fixture.h"
#include "common/status_matchers.h"

namespace accel::agent {
namespace {

using State = v1::ObservedGeneration;
using ::testing::Contains;
using ::testing::HasSubstr;

class AgentUsersTest : public AgentFixture {
 protected:
  AgentUsersTest() {
    char made[] = "/tmp/accel.XXXXXX";
    EXPECT_NE(mkdtemp(made), nullptr);
    dir_ = made;
    Accounts::Options options;
    options.rules.node = "n7";
    options.rules.own_account = "root";
    options.rules.is_root = true;
    options.look_up = [this](const std::string& name) -> Answer {
      if (hold_ != nullptr) hold_->WaitForNotification();
      if (name == "root") return process::Account{.name = "root"};
      if (name != "ann" && name != "eve") return std::nullopt;
      const uid_t uid = name == "ann" ? 61234 : 61236;
      return process::Account{name, uid, 61235, {61235}, "/home/ann", "/bin/sh"};
    };
    options.clock = common::SteadyClock();
    options.second_look = absl::ZeroDuration();
    accounts_ = std::make_unique<Accounts>(std::move(options));
    Agent::Dependencies with = With(&relays_, &link_);
    with.accounts = accounts_.get();
    agent_ = std::make_unique<Agent>(
        Agent::Options{.identity = Identity(), .base_env = {"SECRET=root's"}, .jobs_dir = dir_},
        with);
  }
  ~AgentUsersTest() override {
    agent_.reset();
    std::filesystem::remove_all(dir_);
  }

  using Answer = absl::StatusOr<std::optional<process::Account>>;

  v1::NodeDesired StartAs(const std::string& account) {
    v1::NodeDesired desired = Start("a");
    desired.mutable_generations(0)->set_runs_as(account);
    return desired;
  }

  const v1::NodeObserved& Turn() { return AgentFixture::Turn(agent_.get()); }

  // Runs turns until the lookup has ended and the agent has acted on it. The lookup ends after the
  // first turn, because that turn would otherwise already act on it, and nothing would be readable.
  void TurnAfterLookup() {
    absl::Notification asked;
    hold_ = &asked;
    Turn();
    asked.Notify();
    pollfd readable = {accounts_->wake_fd(), POLLIN, 0};
    ASSERT_EQ(poll(&readable, 1, 10'000), 1);
    hold_ = nullptr;
    Turn();
  }

  std::string dir_;
  absl::Notification* hold_ = nullptr;  // If not null, lookups wait for it.
  NoLogRelays relays_;
  std::unique_ptr<Accounts> accounts_;
  std::unique_ptr<Agent> agent_;
};

TEST_F(AgentUsersTest, AJobRunsAsItsUserInAFolderOfThatUser) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a folder to a user";
  link_.Desire(StartAs("ann"));
  TurnAfterLookup();
  ASSERT_EQ(shims_.starts().size(), 1u);
  EXPECT_EQ(shims_.users().at(common::JobId("a")), "ann");
  EXPECT_EQ(shims_.starts()[0].log_dir, dir_ + "/a/gen_1");
  const std::vector<std::string>& env = shims_.starts()[0].workers[0].env;
  EXPECT_THAT(env, Contains("HOME=/home/ann"));
  EXPECT_THAT(env, ::testing::Not(Contains("SECRET=root's")));
}

TEST_F(AgentUsersTest, ARefusedJobEndsWithAReasonAndWithoutAShim) {
  for (const char* account : {"root", "bob", ""}) {
    v1::NodeDesired desired = StartAs(account);
    desired.mutable_generations(0)->mutable_key()->set_job_id(std::string("job-") + account);
    link_.Desire(desired);
    *account == '\0' ? static_cast<void>(Turn()) : TurnAfterLookup();
    const v1::NodeObserved& observed = Turn();
    const auto& part = *observed.generations().rbegin();
    EXPECT_EQ(part.state(), State::ENDED) << account;
    EXPECT_EQ(part.failure().kind(), v1::ExitRecord::NOT_STARTED);
    EXPECT_EQ(part.failure().code(), 126);
    EXPECT_THAT(part.failure().message(), HasSubstr("node n7"));
  }
  EXPECT_TRUE(shims_.starts().empty());
}

// A coordinator may name another account for a later generation, and a name may get another uid.
TEST_F(AgentUsersTest, ALaterGenerationDoesNotRunInTheShimOfAnotherUser) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a folder to a user";
  v1::NodeDesired desired = StartAs("ann");
  desired.mutable_generations(0)->set_log_dir(dir_);
  link_.Desire(desired);
  TurnAfterLookup();
  ASSERT_EQ(shims_.starts().size(), 1u);
  shims_.ExecDone(common::JobId("a"));
  shims_.ExitAll(common::JobId("a"), {});
  Turn();
  desired = StartAs("eve");
  desired.mutable_generations(0)->set_log_dir(dir_);
  desired.mutable_generations(0)->mutable_key()->set_generation(2);
  link_.Desire(desired);
  TurnAfterLookup();
  EXPECT_EQ(shims_.starts().size(), 1u);
  const auto& part = *Turn().generations().rbegin();
  EXPECT_EQ(part.state(), State::ENDED);
  EXPECT_THAT(part.failure().message(),
              HasSubstr("runs here as uid 61234, and its account is uid 61236 now"));
}

// The loop goes on while the user database hangs, and a job that is stopped meanwhile never starts.
TEST_F(AgentUsersTest, AStopMayComeBeforeTheAccountIsKnown) {
  absl::Notification answers;
  hold_ = &answers;
  link_.Desire(StartAs("ann"));
  EXPECT_EQ(Turn().generations(0).state(), State::STARTING);
  v1::NodeDesired stop = StartAs("ann");
  stop.mutable_generations(0)->set_stop(true);
  link_.Desire(stop);
  EXPECT_EQ(Turn().generations(0).state(), State::ENDED);
  answers.Notify();
  pollfd readable = {accounts_->wake_fd(), POLLIN, 0};
  ASSERT_EQ(poll(&readable, 1, 10'000), 1);
  Turn();
  EXPECT_TRUE(shims_.starts().empty());
  EXPECT_EQ(poll(&readable, 1, 0), 0)
      << "the agent does not spin on an answer that it needs no more";
  EXPECT_EQ(accounts_->wake_at(), absl::InfiniteFuture());
}

}  // namespace
}  // namespace accel::agent
