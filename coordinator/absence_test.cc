// A node does not count as silent for time in which the coordinator itself was away. These tests
// drive the loop as its own thread does: they call it when it asked to be called, or later.

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "coordinator/coordinator_loop_fixture.h"

namespace accel::coordinator {
namespace {

using ::testing::HasSubstr;

constexpr absl::Duration kTimeout = absl::Seconds(5);
constexpr absl::Duration kReconnect = absl::Seconds(15);

class AbsenceTest : public ::testing::Test {
 protected:
  AbsenceTest() { Begin(); }

  void Begin() {
    loop_.reset();
    CoordinatorLoop::Options options;
    options.store = &store_;
    options.clock = &clock_;
    options.limits = limits_;
    options.wall_clock = [this] { return absl::FromUnixSeconds(1'800'000'000) + Age(); };
    loop_ = std::make_unique<CoordinatorLoop>(options);
    ASSERT_OK(loop_->Load());
  }

  absl::Duration Age() { return clock_.Now() - absl::UnixEpoch(); }

  void Connect() {
    AgentCallbacks callbacks;
    callbacks.on_desired = [this](DesiredPtr desired) { desired_ = std::move(desired); };
    callbacks.on_closed = [](absl::Status) {};
    agent_ = loop_->OpenAgentSession(Owner(), std::move(callbacks));
  }

  // Sends a heartbeat of the agent. If a job has been submitted, its part is reported in `state`.
  void Report(v1::ObservedGeneration::State state = v1::ObservedGeneration::RUNNING) {
    v1::NodeObserved observed = Observed(++sequence_);
    if (job_.has_value()) AddGeneration(job_->value(), 1, state, &observed);
    agent_->Report(observed);
  }

  void Submit(const std::string& submit_id) {
    loop_->SubmitJob(Owner(), submit_id, Spec(), [this](absl::StatusOr<common::JobId> job) {
      if (job.ok() && !job_.has_value()) job_ = *job;
    });
    loop_->RunOnce();
  }

  // Runs the loop and immediately finishes its commits. Returns when it must be called again.
  absl::Time Turn() {
    absl::Time wake_at = loop_->RunOnce();
    while (store_.pending().has_value()) {
      store_.Succeed();
      wake_at = loop_->RunOnce();
    }
    return wake_at;
  }

  void StartAJob() {
    Connect();
    Report();
    Submit("one");
    Turn();
    ASSERT_TRUE(job_.has_value());
    Report();
    Turn();
    ASSERT_EQ(Job().phase(), v1::RUNNING);
  }

  // Lets time pass and calls the coordinator whenever it asked to be called.
  void Pass(absl::Duration time) {
    const absl::Time until = clock_.Now() + time;
    for (absl::Time next = Turn(); next < until; next = Turn()) {
      clock_.Advance(std::max(next - clock_.Now(), absl::Milliseconds(1)));
    }
    clock_.Advance(until - clock_.Now());
    Turn();
  }

  // Returns true if the job, which must be running, says that it waits for its silent node.
  bool IsSilent() {
    const v1::Job job = Job();
    EXPECT_EQ(job.phase(), v1::RUNNING) << job.reason();
    return absl::StrContains(job.reason(), "Node a is silent");
  }

  v1::Job Job() {
    v1::Job job;
    loop_->ListJobs(Owner(), *job_, [&job](absl::StatusOr<std::vector<JobPtr>> jobs) {
      if (jobs.ok()) job = *jobs->front();
    });
    loop_->RunOnce();
    return job;
  }

  Limits limits_ = {.node_timeout = kTimeout, .longest_reconnect = kReconnect};
  FaultyStore store_;
  common::SimulatedClock clock_;
  std::unique_ptr<CoordinatorLoop> loop_;
  std::unique_ptr<AgentSession> agent_;
  DesiredPtr desired_;
  std::optional<common::JobId> job_;
  uint64_t sequence_ = 0;
};

TEST_F(AbsenceTest, SilenceCountsWhileItListens) {
  StartAJob();
  Pass(kTimeout - absl::Milliseconds(10));
  EXPECT_FALSE(IsSilent());
  Pass(absl::Milliseconds(20));
  EXPECT_TRUE(IsSilent());
}

TEST_F(AbsenceTest, APauseBetweenTurnsLosesNoNode) {
  StartAJob();
  Pass(absl::Seconds(1));
  clock_.Advance(absl::Seconds(30));
  Pass(kReconnect + kTimeout - absl::Milliseconds(10));
  EXPECT_FALSE(IsSilent());
  // After this time, silence counts.
  Pass(absl::Milliseconds(20));
  EXPECT_TRUE(IsSilent());
}

// As with `accel launch`, whose node timeout is an hour, when Ctrl-Z stops it for several hours.
TEST_F(AbsenceTest, APauseOfSeveralTimeoutsLosesNoNode) {
  limits_.node_timeout = absl::Hours(1);
  Begin();
  StartAJob();
  Pass(absl::Minutes(1));
  clock_.Advance(absl::Hours(7));
  Pass(absl::Minutes(59));
  EXPECT_FALSE(IsSilent());
}

TEST_F(AbsenceTest, EachPauseIsForgiven) {
  StartAJob();
  for (int i = 0; i < 20; ++i) {
    clock_.Advance(absl::Seconds(4));
    Pass(absl::Seconds(3));
  }
  EXPECT_FALSE(IsSilent());
}

TEST_F(AbsenceTest, APauseInTheMiddleOfATurnLosesNoNode) {
  StartAJob();
  Pass(absl::Seconds(1));
  loop_->ListNodes([this](auto) { clock_.Advance(absl::Seconds(30)); });
  Pass(absl::Seconds(1));
  EXPECT_FALSE(IsSilent());
}

TEST_F(AbsenceTest, ASlowCommitLosesNoNode) {
  StartAJob();
  Submit("two");
  ASSERT_TRUE(store_.pending().has_value());
  for (int i = 0; i < 15; ++i) {
    loop_->RunOnce();
    clock_.Advance(absl::Seconds(2));
    if (i < 14) Report();  // Remains in the inbox during the commit.
  }
  Pass(absl::Seconds(1));
  EXPECT_FALSE(IsSilent());
}

TEST_F(AbsenceTest, APauseDuringACommitLosesNoNode) {
  StartAJob();
  Submit("two");
  ASSERT_TRUE(store_.pending().has_value());
  clock_.Advance(absl::Seconds(30));
  Pass(absl::Seconds(1));
  EXPECT_FALSE(IsSilent());
}

// A report that an agent had sent before it closed the connection does not start its silence.
TEST_F(AbsenceTest, AnAgentHasTimeToReconnect) {
  StartAJob();
  clock_.Advance(absl::Seconds(17));
  Report();
  Turn();
  agent_.reset();
  Pass(kReconnect - absl::Seconds(1));
  EXPECT_FALSE(IsSilent());
  Connect();
  Report();
  Pass(absl::Seconds(4));
  EXPECT_FALSE(IsSilent());
  // The agent has connected again, so its silence counts as usual.
  Pass(absl::Seconds(2));
  EXPECT_TRUE(IsSilent());
}

TEST_F(AbsenceTest, AStartHasItsWholeDeadline) {
  Connect();
  Report();
  Submit("one");
  Turn();
  Report(v1::ObservedGeneration::STARTING);
  Pass(absl::Seconds(4));
  clock_.Advance(absl::Minutes(2));
  for (int i = 0; i < 27; ++i) {
    Report(v1::ObservedGeneration::STARTING);
    Pass(absl::Seconds(2));
  }
  EXPECT_EQ(Job().phase(), v1::STARTING);
  Pass(absl::Seconds(3));
  EXPECT_THAT(Job().reason(), HasSubstr("did not report its start"));
}

TEST_F(AbsenceTest, ACoordinatorThatHasJustStartedWaitsForItsNodes) {
  StartAJob();
  agent_.reset();
  Begin();
  Pass(kReconnect + kTimeout - absl::Milliseconds(10));
  EXPECT_FALSE(IsSilent());
  Connect();
  Report();
  Pass(absl::Seconds(1));
  EXPECT_FALSE(IsSilent());

  agent_.reset();
  Begin();
  Pass(kReconnect + kTimeout + absl::Milliseconds(10));
  EXPECT_TRUE(IsSilent());
}

}  // namespace
}  // namespace accel::coordinator
