// When an agent reports, and what it holds back.
#include <gtest/gtest.h>

#include <vector>

#include "absl/status/status.h"
#include "agent/agent_fixture.h"
#include "common/status_matchers.h"

namespace accel::agent {
namespace {

using State = v1::ObservedGeneration;

class AgentReportTest : public AgentFixture {
 protected:
  AgentReportTest() { RunOnce(); }

  void RunOnce() { EXPECT_OK(agent_.RunOnce()); }

  // The states of the generations in the newest report.
  std::vector<State::State> Reported() const {
    std::vector<State::State> states;
    for (const State& part : link_.reports.back().generations()) states.push_back(part.state());
    return states;
  }

  using States = std::vector<State::State>;

  class NoRelays final : public LogRelays {
    void Set(const std::vector<RelaySource>&) override {}
  };

  NoRelays relays_;
  Agent agent_{{.identity = Identity()}, With(&relays_, &link_)};
};

TEST_F(AgentReportTest, AStartIsReportedOnceItsWorkersRun) {
  link_.Desire(Start("a"));
  RunOnce();
  EXPECT_EQ(link_.reports.size(), 1u) << "only the first one";
  shims_.ExecDone(common::JobId("a"));
  RunOnce();
  ASSERT_EQ(link_.reports.size(), 2u);
  EXPECT_EQ(Reported(), States{State::RUNNING});
  EXPECT_EQ(link_.reports.back().applied_version(), 1u);
}

TEST_F(AgentReportTest, AStartThatTakesLongIsReported) {
  link_.Desire(Start("a"));
  RunOnce();
  clock_.Advance(absl::Milliseconds(19));
  RunOnce();
  EXPECT_EQ(link_.reports.size(), 1u);
  clock_.Advance(absl::Milliseconds(1));
  RunOnce();
  ASSERT_EQ(link_.reports.size(), 2u);
  EXPECT_EQ(Reported(), States{State::STARTING});
}

TEST_F(AgentReportTest, AStartThatFailsIsReportedAtOnce) {
  shims_.FailNextShim(absl::InternalError("no memory"));
  link_.Desire(Start("a"));
  RunOnce();
  ASSERT_EQ(link_.reports.size(), 2u);
  EXPECT_EQ(Reported(), States{State::ENDED});
}

// What has happened meanwhile does not wait for the workers.
TEST_F(AgentReportTest, NothingElseIsHeld) {
  link_.Desire(Start("a"));
  RunOnce();
  shims_.ExecDone(common::JobId("a"));
  RunOnce();
  v1::NodeDesired both = Start("b");
  *both.add_generations() = Start("a").generations(0);
  link_.Desire(both);
  shims_.Exit(common::JobId("a"), 0, shim::ExitFact{.code = 3}, {});
  RunOnce();
  ASSERT_EQ(link_.reports.size(), 3u);
  EXPECT_EQ(Reported(), (States{State::ENDED, State::STARTING}));
}

// The stop of a generation that never arrived is no action, but its end is news.
TEST_F(AgentReportTest, AnEndWithoutAnActionIsReportedWithTheStartBesideIt) {
  v1::NodeDesired desired = Start("b");
  v1::DesiredGeneration* stop = desired.add_generations();
  stop->mutable_key()->set_job_id("c");
  stop->mutable_key()->set_generation(1);
  stop->set_stop(true);
  link_.Desire(desired);
  RunOnce();
  ASSERT_EQ(link_.reports.size(), 2u);
  EXPECT_EQ(Reported(), (States{State::STARTING, State::ENDED}));
}

TEST_F(AgentReportTest, AStoreSocketThatHasVanishedIsReportedAtOnce) {
  v1::NodeDesired desired = Start("b");
  *desired.add_generations() = Start("c").generations(0);
  desired.mutable_generations(1)->set_store_socket(12345);
  link_.Desire(desired);
  RunOnce();
  ASSERT_EQ(link_.reports.size(), 2u);
  EXPECT_EQ(Reported(), (States{State::STARTING, State::ENDED}));
}

TEST_F(AgentReportTest, AnotherStartDoesNotExtendTheTime) {
  link_.Desire(Start("a"));
  RunOnce();
  clock_.Advance(absl::Milliseconds(15));
  v1::NodeDesired both = Start("b");
  *both.add_generations() = Start("a").generations(0);
  link_.Desire(both);
  RunOnce();
  EXPECT_EQ(link_.reports.size(), 1u);
  clock_.Advance(absl::Milliseconds(5));
  RunOnce();
  ASSERT_EQ(link_.reports.size(), 2u);
  EXPECT_EQ(Reported(), (States{State::STARTING, State::STARTING}));
}

TEST_F(AgentReportTest, HeartbeatsKeepTheBeatOfTheWallClock) {
  const absl::Duration ahead = absl::Hours(500'000) + absl::Milliseconds(30);
  Agent agent({.identity = Identity(), .wall = [&] { return clock_.Now() + ahead; }},
              With(&relays_, &link_));
  const auto reports_after = [&](absl::Duration time) {
    const size_t before = link_.reports.size();
    clock_.Advance(time);
    EXPECT_OK(agent.RunOnce());
    return link_.reports.size() - before;
  };
  clock_.Advance(absl::UnixEpoch() + absl::Hours(1) - clock_.Now());
  EXPECT_EQ(reports_after(absl::ZeroDuration()), 1u);
  EXPECT_EQ(reports_after(absl::Milliseconds(969)), 0u);
  EXPECT_EQ(reports_after(absl::Milliseconds(1)), 1u);
  EXPECT_EQ(reports_after(absl::Milliseconds(999)), 0u);
  EXPECT_EQ(reports_after(absl::Milliseconds(1)), 1u);
}

}  // namespace
}  // namespace accel::agent
