// Tests what scenarios cannot express well: bounds, determinism, and the reason and wake-up time of
// a plan. The planner's decisions are tested in tests/scenarios.

#include "coordinator/core/planner.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "common/status_matchers.h"
#include "coordinator/core/observe.h"
#include "coordinator/core/records.h"
#include "coordinator/core/recover.h"
#include "coordinator/core/requests.h"

namespace accel::coordinator {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

v1::JobSpec Spec(int nodes = 1, size_t argument_bytes = 1) {
  v1::JobSpec spec;
  spec.add_argv(std::string(argument_bytes, 'x'));
  spec.set_nodes(nodes);
  return spec;
}

v1::JobSpec SpecWithRestarts(int max_restarts) {
  v1::JobSpec spec = Spec();
  spec.set_max_restarts(max_restarts);
  return spec;
}

v1::NodeObserved Observed(const std::string& node, uint64_t sequence,
                          const std::string& incarnation = "1") {
  v1::NodeObserved observed;
  observed.set_node_id(node);
  observed.set_name(node);
  observed.set_incarnation(incarnation);
  observed.set_boot_id(incarnation);
  observed.set_address(node);
  observed.set_sequence(sequence);
  return observed;
}

v1::ObservedGeneration* AddEnded(const common::JobId& job, common::Generation generation,
                                 v1::NodeObserved* observed) {
  v1::ObservedGeneration* part = observed->add_generations();
  part->set_job_id(job.value());
  part->set_generation(generation);
  part->set_state(v1::ObservedGeneration::ENDED);
  return part;
}

class PlannerTest : public ::testing::Test {
 protected:
  absl::StatusOr<common::JobId> Submit(int nodes = 1, size_t argument_bytes = 1) {
    return Submit(absl::StrCat("s", ++submits_), Spec(nodes, argument_bytes));
  }

  absl::StatusOr<common::JobId> Submit(const std::string& submit_id, const v1::JobSpec& spec) {
    return SubmitJob(submit_id, spec, now_, &state_, &changes_);
  }

  absl::Status Report(SessionId session, const v1::NodeObserved& observed) {
    return Observe(session, observed, now_, &state_, &changes_, &superseded_);
  }

  absl::Status Report(const std::string& node, SessionId session, uint64_t sequence,
                      const std::string& incarnation = "1") {
    return Report(session, Observed(node, sequence, incarnation));
  }

  Plan Rest() { return PlanToRest(now_, now_, &state_, &changes_); }
  const v1::Job& Job(const common::JobId& id) { return state_.jobs.at(id).job; }

  absl::Time now_ = absl::UnixEpoch() + absl::Hours(1);
  ClusterState state_;
  Changes changes_;
  SessionId superseded_ = 0;
  int submits_ = 0;
};

TEST_F(PlannerTest, SameInputSamePlan) {
  ASSERT_OK(Report("a", 1, 1));
  ASSERT_OK(Submit());
  ASSERT_OK(Submit(3));
  const Plan first = MakePlan(state_, Everything(state_), now_);
  const Plan second = MakePlan(state_, Everything(state_), now_);
  ASSERT_EQ(first.actions.size(), 2u);
  ASSERT_EQ(second.actions.size(), 2u);
  EXPECT_EQ(std::get<StartGeneration>(first.actions[0]).reason,
            std::get<StartGeneration>(second.actions[0]).reason);
  EXPECT_EQ(first.reason, "Starting 1 process on node a; waiting for node a.");
  EXPECT_TRUE(Rest().actions.empty());
}

TEST_F(PlannerTest, WakesForTheNextDeadline) {
  state_.limits.start_deadline = absl::Seconds(2);
  EXPECT_EQ(Rest().wake_at, absl::InfiniteFuture());
  ASSERT_OK(Report("a", 1, 1));
  ASSERT_OK(Submit());
  EXPECT_EQ(Rest().wake_at, now_ + absl::Seconds(2));
  now_ += absl::Seconds(2);
  EXPECT_EQ(Rest().wake_at, now_ + absl::Seconds(1));  // The node's silence.
}

TEST_F(PlannerTest, JobsAreCountedAsTheyAreInMemory) {
  v1::JobSpec spec;
  spec.set_nodes(1);
  for (int i = 0; i < 10'000; ++i) spec.add_argv(i == 0 ? "x" : "");
  ASSERT_OK(Submit("many-arguments", spec));
  EXPECT_GT(state_.job_bytes, 10'000 * 40);
  EXPECT_LT(spec.ByteSizeLong(), 10'000u * 3);
}

TEST_F(PlannerTest, FinishedJobsMakeRoomForOthers) {
  state_.limits.max_job_bytes = 40'000;
  std::vector<common::JobId> jobs;
  for (int i = 0; i < 10; ++i) {
    const auto job = Submit(1, 4'000);
    ASSERT_OK(job) << i;
    jobs.push_back(*job);
    ASSERT_OK(CancelJob(*job, false, &state_, &changes_));
    Rest();
    EXPECT_LE(state_.job_bytes, 20'000);
  }
  EXPECT_EQ(state_.jobs.count(jobs[0]), 0u);
  EXPECT_EQ(state_.jobs.count(jobs[9]), 1u);
}

TEST_F(PlannerTest, RecordsOfGenerationsAreCountedAndMakeRoom) {
  state_.limits.max_alike_failures = 1000;
  const auto fail = [this](const common::JobId& job, int generation, uint64_t sequence) {
    v1::NodeObserved observed = Observed("a", sequence);
    v1::ObservedWorker* worker = AddEnded(job, generation, &observed)->add_workers();
    worker->mutable_exit()->set_kind(v1::ExitRecord::EXITED);
    worker->mutable_exit()->set_code(1);
    for (int i = 0; i < 4; ++i) worker->add_last_lines(std::string(4000, 'x'));
    ASSERT_OK(Report(1, observed));
    Rest();
  };
  state_.limits.max_job_bytes = 300'000;
  state_.limits.first_restart_pause = state_.limits.longest_restart_pause = absl::ZeroDuration();
  ASSERT_OK(Report("a", 1, 1));
  const common::JobId job = Submit("s", SpecWithRestarts(100)).value();
  Rest();
  for (int generation = 1; generation <= 20; ++generation) {
    fail(job, generation, 1 + generation);
    ASSERT_EQ(CurrentGeneration(Job(job))->generation(), generation + 1);
    EXPECT_EQ(state_.job_bytes, state_.jobs.at(job).bytes);
    EXPECT_LT(state_.job_bytes, 400'000);
  }
  // Fewer than the 21 that there were, and than generation_records, because each has 32 KB here.
  EXPECT_LT(Job(job).generations_size(), 12);
  EXPECT_GT(Job(job).generations_size(), 5);
  // The next coordinator, which counts the bytes from scratch, has the same count.
  changes_.cluster = true;
  state_.facts.cluster_id = "c";
  const absl::StatusOr<ClusterState> restored =
      Recover(RowsOf(state_, changes_).put, state_.limits, {now_, now_, "", ""});
  ASSERT_OK(restored);
  EXPECT_NEAR(static_cast<double>(restored->job_bytes), static_cast<double>(state_.job_bytes),
              0.1 * static_cast<double>(state_.job_bytes));
}

TEST_F(PlannerTest, ReportsAreCountedAndForgottenWithTheirStreams) {
  v1::NodeObserved observed = Observed("a", 1);
  for (int i = 0; i < 1000; ++i) observed.add_generations()->set_job_id("j");
  ASSERT_OK(Report(1, observed));
  const int64_t bytes = state_.report_bytes;
  EXPECT_GT(bytes, 100'000);
  observed.set_sequence(2);
  ASSERT_OK(Report(1, observed));
  EXPECT_EQ(state_.report_bytes, bytes);
  state_.limits.max_report_bytes = bytes + 1000;
  observed.set_node_id("b");
  observed.set_name("b");
  EXPECT_THAT(Report(2, observed),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("bytes of nodes' reports")));
  // A stream whose first report is refused takes nothing from the stream before it.
  observed.set_node_id("a");
  observed.set_name("a");
  for (int i = 0; i < 1000; ++i) observed.add_generations()->set_job_id("j");
  EXPECT_TRUE(absl::IsResourceExhausted(Report(4, observed)));
  EXPECT_EQ(state_.nodes.at(common::NodeId("a")).session, 1u);
  EXPECT_EQ(state_.nodes.at(common::NodeId("a")).observed.generations_size(), 1000);
  CloseSession(1, common::NodeId("a"), &state_);
  EXPECT_LT(state_.report_bytes, 5'000);
  EXPECT_EQ(state_.nodes.at(common::NodeId("a")).observed.name(), "a");
  EXPECT_OK(Report(3, Observed("b", 1)));
}

TEST_F(PlannerTest, OnlyTheNewestFinishedJobsAreKept) {
  state_.limits.max_finished_jobs = 2;
  std::vector<common::JobId> jobs;
  for (int i = 0; i < 4; ++i) {
    jobs.push_back(Submit().value());
    ASSERT_OK(CancelJob(jobs.back(), false, &state_, &changes_));
    Rest();
  }
  EXPECT_EQ(state_.jobs.size(), 2u);
  EXPECT_EQ(state_.submits.size(), 2u);
  EXPECT_EQ(changes_.erase, (std::set<common::JobId>{jobs[0], jobs[1]}));
  ASSERT_EQ(changes_.put.size(), 2u);
  EXPECT_TRUE(changes_.put.contains(jobs[2]));
  EXPECT_TRUE(changes_.put.contains(jobs[3]));
  // The ends of the dropped jobs are kept.
  EXPECT_OK(CancelJob(jobs[0], false, &state_, &changes_));
  EXPECT_EQ(state_.ended.Find(jobs[0])->phase, v1::CANCELLED);
  EXPECT_THAT(CancelJob(common::JobId("nope"), false, &state_, &changes_),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("nope")));
  int64_t bytes = 0;
  for (const auto& [id, entry] : state_.jobs) bytes += entry.bytes;
  EXPECT_EQ(state_.job_bytes, bytes);
}

TEST_F(PlannerTest, ARepeatedSubmitIsTheSameJobHoweverManyHaveEndedSince) {
  state_.limits.max_finished_jobs = 2;
  const common::JobId first = Submit("first", Spec()).value();
  ASSERT_OK(CancelJob(first, false, &state_, &changes_));
  for (int i = 0; i < 1000; ++i) {
    ASSERT_OK(CancelJob(*Submit(), false, &state_, &changes_));
    Rest();
  }
  ASSERT_EQ(state_.jobs.count(first), 0u);
  EXPECT_EQ(*Submit("first", Spec()), first);
  EXPECT_EQ(state_.jobs.count(first), 0u);
}

TEST_F(PlannerTest, TheNodesAreBounded) {
  state_.limits.max_nodes = 2;
  ASSERT_OK(Report("a", 1, 1));
  ASSERT_OK(Report("b", 2, 1));
  EXPECT_THAT(Report("c", 3, 1), StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("2")));
  CloseSession(1, common::NodeId("a"), &state_);
  EXPECT_OK(Report("c", 3, 1));
  EXPECT_EQ(state_.nodes.count(common::NodeId("a")), 0u);
}

TEST_F(PlannerTest, ANodeRunsABoundedNumberOfJobs) {
  state_.limits.generations_per_node = 2;
  ASSERT_OK(Report("a", 1, 1));
  ASSERT_OK(Submit());
  ASSERT_OK(Submit());
  const common::JobId third = Submit().value();
  Rest();
  EXPECT_EQ(Job(third).reason(), "Waits: node a runs 2 jobs, its maximum.");
}

TEST_F(PlannerTest, AFixedClusterRefusesWhatCanNeverFit) {
  state_.limits.fixed_nodes = 1;
  const common::JobId job = Submit(2).value();
  Rest();
  EXPECT_EQ(Job(job).phase(), v1::PENDING);  // The cluster's only node may still connect.
  ASSERT_OK(Report("a", 1, 1));
  Rest();
  EXPECT_EQ(Job(job).phase(), v1::FAILED);
  EXPECT_EQ(Job(job).exit_code(), 1);
  EXPECT_THAT(Job(job).reason(), HasSubstr("Needs 2 nodes; 1 is connected"));
}

TEST_F(PlannerTest, OldGenerationRecordsGo) {
  state_.limits.generation_records = 3;
  ASSERT_OK(Report("a", 1, 1));
  const common::JobId job = Submit("s", SpecWithRestarts(10)).value();
  Rest();
  for (int i = 2; i <= 6; ++i) {
    // A rebooted host has nothing of what ran before.
    now_ += absl::Minutes(1);
    CloseSession(static_cast<SessionId>(i - 1), common::NodeId("a"), &state_);
    ASSERT_OK(Report("a", static_cast<SessionId>(i), 1, absl::StrCat(i)));
    Rest();
  }
  EXPECT_EQ(Job(job).generations_size(), 3);
  EXPECT_EQ(CurrentGeneration(Job(job))->generation(), 6);
  EXPECT_EQ(Job(job).membership_changes(), 5);
}

// Invariant 5.
TEST_F(PlannerTest, ReportsOfOldSessionsAndOutOfSequenceAreRefused) {
  ASSERT_OK(Report("a", 1, 5, "old"));
  CloseSession(1, common::NodeId("a"), &state_);
  ASSERT_OK(Report("a", 2, 1, "new"));
  EXPECT_THAT(Report("a", 1, 6, "old"),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("newer stream")));
  EXPECT_EQ(state_.stale.sessions, 1);
  EXPECT_EQ(state_.nodes.at(common::NodeId("a")).observed.incarnation(), "new");
  ASSERT_OK(Report("a", 2, 1, "new"));  // The report is out of sequence and is ignored.
  EXPECT_EQ(state_.stale.sessions, 2);
  EXPECT_THAT(Report("a", 2, 2, "third"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("changed within")));
  // The end of the old session does not end the new one.
  CloseSession(1, common::NodeId("a"), &state_);
  EXPECT_TRUE(IsConnected(state_, state_.nodes.at(common::NodeId("a")), now_));
}

class WildReports : public PlannerTest {
 protected:
  // Sends a report of node a that a correct agent would not send.
  absl::Status ReportWild(uint64_t applied_version, const common::JobId& job = common::JobId(),
                          common::Generation generation = 0) {
    v1::NodeObserved observed = Observed("a", 2);
    observed.set_applied_version(applied_version);
    if (generation != 0) AddEnded(job, generation, &observed)->set_store_socket_gone(true);
    return Report(1, observed);
  }
};

TEST_F(WildReports, AVersionThatWasNeverSentIsRefused) {
  state_.revision = 1000;
  ASSERT_OK(Report("a", 1, 1));
  EXPECT_THAT(ReportWild(~uint64_t{0}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("applied_version")));
  EXPECT_THAT(ReportWild(1001),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("applied_version")));
  EXPECT_OK(ReportWild(1000));
}

TEST_F(WildReports, AGenerationThatWasNeverPlannedIsRefused) {
  ASSERT_OK(Report("a", 1, 1));
  const common::JobId running = Submit().value();
  const common::JobId waiting = Submit(3).value();
  Rest();
  for (const common::Generation generation : {-1, 2, 200}) {
    EXPECT_THAT(ReportWild(0, running, generation),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(running.value())));
  }
  EXPECT_THAT(ReportWild(0, waiting, 1),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(waiting.value())));
  // A node may have any generation of a job that this coordinator does not know. It will be asked
  // to stop it.
  EXPECT_OK(ReportWild(0, common::JobId("unknown"), 7));
  EXPECT_EQ(Job(running).phase(), v1::STARTING);
}

// No known input leads to this. If one exists, the coordinator still works.
TEST_F(WildReports, APlanThatDoesNotSettleIsContinuedLater) {
  ASSERT_OK(Report("a", 1, 1));
  const common::JobId job = Submit().value();
  for (common::Generation generation = 1; generation <= 200; ++generation) {
    AddEnded(job, generation, &state_.nodes.at(common::NodeId("a")).observed)
        ->set_store_socket_gone(true);
  }
  const Plan plan = Rest();
  EXPECT_FALSE(plan.actions.empty());
  EXPECT_GT(plan.wake_at, now_);
  EXPECT_LE(plan.wake_at, now_ + absl::Seconds(1));
}

}  // namespace
}  // namespace accel::coordinator
