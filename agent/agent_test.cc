#include "agent/agent.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/fake_link.h"
#include "agent/shim/fake_shim_host.h"
#include "common/status_matchers.h"
#include "common/wake_fd.h"

namespace accel {
namespace {

using State = v1::ObservedGeneration;
using ::testing::Contains;

// Remembers what the agent was asked to relay.
class FakeRelays final : public LogRelays {
 public:
  void Set(const std::vector<RelaySource>& to) override { sources = to; }
  std::vector<RelaySource> sources;
};

class AgentTest : public ::testing::Test {
 protected:
  static v1::NodeObserved Identity() {
    v1::NodeObserved identity;
    identity.set_node_id("n1");
    identity.set_incarnation("i1");
    return identity;
  }

  v1::NodeDesired Start(const std::string& job) {
    v1::NodeDesired desired;
    desired.set_version(++version_);
    desired.set_incarnation("i1");
    v1::DesiredGeneration* start = desired.add_generations();
    start->mutable_key()->set_job_id(job);
    start->mutable_key()->set_generation(1);
    start->add_workers();
    return desired;
  }

  // A turn, and the state that the last report carries.
  const v1::NodeObserved& Turn() {
    EXPECT_OK(agent_.RunOnce());
    return link_.reports.back();
  }

  FakeShimHost shims_;
  FakeLink link_;
  FakeRelays relays_;
  SimulatedClock clock_;
  StoreSockets sockets_{"127.0.0.1", 2};
  uint64_t version_ = 0;
  std::vector<std::set<JobId>> left_at_job_end_;
  Agent agent_{{.identity = Identity(),
                .base_env = {"HOME=/root"},
                .jobs_dir = "/jobs",
                .on_job_end = [this](const auto& left) { left_at_job_end_.push_back(left); }},
               {.shims = &shims_,
                .link = &link_,
                .store_sockets = &sockets_,
                .relays = &relays_,
                .clock = &clock_}};
};

TEST_F(AgentTest, ReportsItselfFirst) {
  EXPECT_EQ(Turn().store_sockets_size(), 2);
  EXPECT_GT(link_.reports.back().store_sockets(0).port(), 0);
}

TEST_F(AgentTest, ReportsChangesAtOnceAndOtherwiseEachHeartbeat) {
  Turn();
  Turn();
  EXPECT_EQ(link_.reports.size(), 1u);
  clock_.Advance(absl::Seconds(1));
  Turn();
  EXPECT_EQ(link_.reports.size(), 2u);
  link_.Desire(Start("a"));
  Turn();
  EXPECT_EQ(link_.reports.size(), 3u);
  EXPECT_GT(link_.reports[2].sequence(), link_.reports[1].sequence());
}

TEST_F(AgentTest, RunsAJobFromStartToForget) {
  link_.Desire(Start("a"));
  EXPECT_EQ(Turn().generations(0).state(), State::STARTING);
  ASSERT_EQ(shims_.starts().size(), 1u);
  EXPECT_EQ(shims_.starts()[0].log_dir, "/jobs/a/gen_1");
  EXPECT_THAT(shims_.starts()[0].workers[0].env, Contains("HOME=/root"));
  shims_.ExecDone(JobId("a"));
  EXPECT_EQ(Turn().generations(0).state(), State::RUNNING);
  shims_.Exit(JobId("a"), 0, ExitFact{.code = 3}, {"why"});
  const v1::ObservedGeneration ended = Turn().generations(0);
  EXPECT_EQ(ended.state(), State::ENDED);
  EXPECT_EQ(ended.workers(0).exit().code(), 3);
  EXPECT_EQ(ended.workers(0).last_lines(0), "why");
  EXPECT_TRUE(left_at_job_end_.empty());
  v1::NodeDesired forget;
  forget.set_version(++version_);
  forget.set_incarnation("i1");
  *forget.add_forget() = Start("a").generations(0).key();
  link_.Desire(forget);
  EXPECT_EQ(Turn().generations_size(), 0);
  Turn();
  EXPECT_FALSE(shims_.has_shim(JobId("a")));
  EXPECT_EQ(left_at_job_end_, (std::vector<std::set<JobId>>{{}}));
}

TEST_F(AgentTest, AStoreSocketIsGivenAwayOnceAndReplaced) {
  const uint64_t id = Turn().store_sockets(0).id();
  v1::NodeDesired desired = Start("a");
  desired.mutable_generations(0)->set_store_socket(id);
  link_.Desire(desired);
  const v1::NodeObserved observed = Turn();
  ASSERT_EQ(observed.store_sockets_size(), 2);
  for (const v1::StoreSocket& socket : observed.store_sockets()) EXPECT_NE(socket.id(), id);
  EXPECT_TRUE(shims_.starts()[0].serves_store);
}

TEST_F(AgentTest, WithoutAShimTheGenerationHasFailed) {
  shims_.FailNextShim(absl::InternalError("no such file"));
  link_.Desire(Start("a"));
  const v1::NodeObserved observed = Turn();
  EXPECT_EQ(observed.generations(0).state(), State::ENDED);
  EXPECT_EQ(observed.generations(0).failure().kind(), v1::ExitRecord::NOT_STARTED);
}

TEST_F(AgentTest, ANewSessionGetsAReport) {
  Turn();
  link_.SetSession(2);
  Turn();
  EXPECT_EQ(link_.reports.size(), 2u);
}

TEST_F(AgentTest, SaysNothingWithoutASession) {
  link_.SetSession(0);
  EXPECT_OK(agent_.RunOnce());
  EXPECT_TRUE(link_.reports.empty());
}

TEST_F(AgentTest, RelaysWhatIsReadAndKnowsWhenItIsComplete) {
  v1::NodeDesired desired = Start("a");
  desired.mutable_generations(0)->set_log_dir("/mine");
  v1::LogReader* reader = desired.add_log_readers();
  reader->set_job_id("a");
  reader->set_generation(1);
  link_.Desire(desired);
  Turn();
  ASSERT_EQ(relays_.sources.size(), 1u);
  Turn();
  EXPECT_EQ(relays_.sources[0].log_dir, "/mine/a/gen_1");
  EXPECT_FALSE(relays_.sources[0].complete);
  shims_.ExitAll(JobId("a"), ExitFact{});
  Turn();
  EXPECT_TRUE(relays_.sources[0].complete);
}

TEST_F(AgentTest, StopsWhereTheLinkIsGoneForEver) {
  link_.Fail(absl::AlreadyExistsError("another agent"));
  WakeFd never;
  EXPECT_THAT(agent_.Run(never.get()),
              accel::testing::StatusIs(absl::StatusCode::kAlreadyExists, ::testing::_));
}

TEST_F(AgentTest, StopsWhenAsked) {
  WakeFd stop;
  stop.Wake();
  EXPECT_OK(agent_.Run(stop.get()));
}

}  // namespace
}  // namespace accel
