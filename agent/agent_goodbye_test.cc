// How a node leaves its cluster (docs/decisions/0043).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "agent/agent_fixture.h"
#include "common/wake_fd.h"

namespace accel::agent {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

class AgentGoodbyeTest : public AgentFixture {
 protected:
  static Agent::Options Options() {
    Agent::Options options;
    options.identity = Identity();
    options.jobs_dir = absl::StrCat(getenv("TEST_TMPDIR"), "/jobs");
    return options;
  }

  // The coordinator has stored the result of one of the generations.
  void Forget(v1::NodeDesired* desired, int index) {
    desired->set_version(++version_);
    *desired->add_forget() = desired->generations(index).key();
    desired->mutable_generations()->DeleteSubrange(index, 1);
    link_.Desire(*desired);
  }

  NoLogRelays relays_;
  Agent agent_{Options(), With(&relays_, &link_)};
};

TEST_F(AgentGoodbyeTest, LeavesOnceTheCoordinatorKnowsAndItsJobsHaveEnded) {
  link_.Desire(Start("a"));
  EXPECT_EQ(Turn(&agent_).goodbye(), "");
  shims_.ExecDone(common::JobId("a"));
  agent_.SayGoodbye(Leaver::kNode, "its host is shutting down");
  EXPECT_EQ(Turn(&agent_).goodbye(), "its host is shutting down");
  EXPECT_THAT(shims_.stops(), IsEmpty()) << "the coordinator decides what ends";
  EXPECT_FALSE(agent_.has_left(Leaver::kNode));
  v1::NodeDesired stop = Start("a");
  stop.set_goodbye_taken(true);
  stop.mutable_generations(0)->set_stop(true);
  link_.Desire(stop);
  Turn(&agent_);
  EXPECT_THAT(shims_.stops(), SizeIs(1));
  EXPECT_FALSE(agent_.has_left(Leaver::kNode));
  shims_.ExitAll(common::JobId("a"), {.kind = shim::ExitFact::Kind::kExited, .code = 0});
  Turn(&agent_);
  EXPECT_FALSE(agent_.has_left(Leaver::kNode)) << "the result is not stored yet";
  Forget(&stop, 0);
  Turn(&agent_);
  EXPECT_TRUE(agent_.has_left(Leaver::kNode));
}

TEST_F(AgentGoodbyeTest, ItHasNotLeftIfNoCoordinatorHasAnswered) {
  link_.Desire(Start("a"));
  Turn(&agent_);
  shims_.ExitAll(common::JobId("a"), {.kind = shim::ExitFact::Kind::kExited, .code = 0});
  agent_.SayGoodbye(Leaver::kNode, "its agent was stopped");
  Turn(&agent_);
  EXPECT_FALSE(agent_.has_left(Leaver::kNode));
}

TEST_F(AgentGoodbyeTest, ASecondSignalEndsTheWait) {
  link_.Desire(Start("a"));
  Turn(&agent_);
  shims_.ExecDone(common::JobId("a"));
  common::WakeFd signal;
  signal.Wake();
  agent_.Leave(Leaver::kNode, "its agent was stopped", signal.get());
  EXPECT_FALSE(agent_.has_left(Leaver::kNode));
  EXPECT_TRUE(agent_.state().Holdings().processes);
}

TEST_F(AgentGoodbyeTest, AnAgentThatStopsWaitsOnlyForTheJobsThatEndWithIt) {
  v1::NodeDesired desired = Start("b");
  desired.mutable_generations(0)->set_on_agent_loss(v1::KEEP);
  *desired.add_generations() = Start("a").generations(0);
  desired.mutable_generations(1)->set_on_agent_loss(v1::END);
  link_.Desire(desired);
  Turn(&agent_);
  for (const char* job : {"a", "b"}) shims_.ExecDone(common::JobId(job));
  agent_.SayGoodbye(Leaver::kAgent, "its agent was stopped");
  EXPECT_EQ(Turn(&agent_).agent_stops(), "its agent was stopped");
  EXPECT_EQ(link_.reports.back().goodbye(), "");
  EXPECT_THAT(shims_.stops(), IsEmpty()) << "the coordinator decides what ends";
  desired.set_version(++version_);
  desired.set_goodbye_taken(true);
  desired.mutable_generations(1)->set_stop(true);
  link_.Desire(desired);
  Turn(&agent_);
  EXPECT_THAT(shims_.stops(), SizeIs(1));
  EXPECT_FALSE(agent_.has_left(Leaver::kAgent));
  shims_.ExitAll(common::JobId("a"), {.kind = shim::ExitFact::Kind::kExited, .code = 0});
  Turn(&agent_);
  EXPECT_FALSE(agent_.has_left(Leaver::kAgent)) << "the result is not stored yet";
  Forget(&desired, 1);
  Turn(&agent_);
  EXPECT_TRUE(agent_.has_left(Leaver::kAgent));
  EXPECT_TRUE(agent_.state().Holdings().processes) << "the other job continues";
}

}  // namespace
}  // namespace accel::agent
