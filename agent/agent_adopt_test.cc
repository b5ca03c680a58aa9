// What an agent takes over from the one before it, and what counts as contact with the coordinator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "agent/agent_fixture.h"
#include "common/status_matchers.h"

namespace accel::agent {
namespace {

using State = v1::ObservedGeneration;
using ::testing::ElementsAre;

class AgentAdoptTest : public AgentFixture {
 protected:
  static Agent::Options Options() {
    Agent::Options options;
    options.identity = Identity();
    options.jobs_dir = absl::StrCat(getenv("TEST_TMPDIR"), "/jobs");
    return options;
  }

  Agent::Dependencies With(FakeLink* link) { return AgentFixture::With(&relays_, link); }
  const v1::NodeObserved& Turn() { return AgentFixture::Turn(&agent_); }

  NoLogRelays relays_;
  Agent agent_{Options(), With(&link_)};
};

// Invariant 6. The first report of a new agent lists what the one before it has left.
TEST_F(AgentAdoptTest, ANewAgentAdoptsBeforeItReports) {
  v1::NodeDesired desired = Start("a");
  desired.mutable_generations(0)->set_failure_grace_ms(700);
  link_.Desire(desired);
  Turn();
  shims_.ExecDone(common::JobId("a"));
  Turn();
  FakeLink link;
  Agent next(Options(), With(&link));
  EXPECT_OK(next.RunOnce());
  ASSERT_EQ(link.reports.size(), 1u);
  ASSERT_EQ(link.reports[0].generations_size(), 1);
  EXPECT_EQ(link.reports[0].generations(0).state(), State::RUNNING);
  EXPECT_EQ(link.reports[0].generations(0).workers(0).pid(), 1000);
  EXPECT_TRUE(shims_.stops().empty()) << "nothing is stopped before the coordinator has spoken";
  EXPECT_FALSE(shims_.contact());
  link.Desire(Start("a"));
  EXPECT_OK(next.RunOnce());
  EXPECT_TRUE(shims_.contact());
  EXPECT_EQ(shims_.starts().size(), 1u) << "it runs already";
  v1::NodeDesired nothing;
  nothing.set_incarnation("i1");
  nothing.set_version(9);
  link.Desire(nothing);
  EXPECT_OK(next.RunOnce());
  ASSERT_EQ(shims_.stops().size(), 1u);
  EXPECT_EQ(shims_.stops()[0].grace, absl::Milliseconds(700));
}

TEST_F(AgentAdoptTest, ResultsAreForgottenOnDiskOnceTheyAreStored) {
  link_.Desire(Start("a"));
  Turn();
  shims_.KillShim(common::JobId("a"));
  Turn();
  EXPECT_THAT(shims_.forgotten(), ::testing::IsEmpty());
  link_.Desire(Forget("a"));
  Turn();
  EXPECT_THAT(shims_.forgotten(), ElementsAre(common::JobId("a")));
}

TEST_F(AgentAdoptTest, ContactMeansThatTheCoordinatorHasSpokenInThisSession) {
  Turn();
  EXPECT_FALSE(shims_.contact());
  link_.Desire(Start("a"));
  Turn();
  EXPECT_TRUE(shims_.contact());
  link_.SetSession(0);
  EXPECT_OK(agent_.RunOnce());
  EXPECT_FALSE(shims_.contact());
  link_.SetSession(2);
  Turn();
  EXPECT_FALSE(shims_.contact());
}

// A later coordinator may want something else than what an earlier one has said.
TEST_F(AgentAdoptTest, NothingOfAnEarlierSessionIsActedUponInALaterOne) {
  shims_.HoldLeaving(true);
  link_.Desire(Start("a"));
  Turn();
  shims_.ExitAll(common::JobId("a"), shim::ExitFact{.code = 3});
  Turn();
  link_.Desire(Forget("a"));
  Turn();
  v1::NodeDesired next = Start("a");
  next.mutable_generations(0)->mutable_key()->set_generation(2);
  link_.Desire(next);
  Turn();  // It waits for the shim to exit.
  link_.SetSession(2);
  shims_.HoldLeaving(false);
  Turn();
  EXPECT_EQ(shims_.starts().size(), 1u);
  link_.Desire(next);
  Turn();
  EXPECT_EQ(shims_.starts().size(), 2u);
}

}  // namespace
}  // namespace accel::agent
