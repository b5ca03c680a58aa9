// Tests what scenarios cannot express well: bounds, determinism, and the reason and wake-up time of
// a plan. The planner's decisions are tested in tests/scenarios.

#include "coordinator/core/planner.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "common/status_matchers.h"
#include "coordinator/core/cluster_state_fixture.h"
#include "coordinator/core/observe.h"
#include "coordinator/core/records.h"
#include "coordinator/core/recover.h"
#include "coordinator/core/requests.h"

namespace accel::coordinator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::StatusIs;

v1::JobSpec SpecWithRestarts(int max_restarts) {
  v1::JobSpec spec = Spec();
  spec.set_max_restarts(max_restarts);
  return spec;
}

class PlannerTest : public ClusterStateTest {};

TEST_F(PlannerTest, SameInputSamePlan) {
  ASSERT_OK(Report("a", 1, 1));
  ASSERT_OK(Submit());
  ASSERT_OK(Submit(3));
  const Plan first = PlanEverything(state_, now_);
  const Plan second = PlanEverything(state_, now_);
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

TEST_F(PlannerTest, ANodeRunsABoundedNumberOfJobs) {
  state_.limits.generations_per_node = 2;
  ASSERT_OK(Report("a", 1, 1));
  ASSERT_OK(Submit());
  ASSERT_OK(Submit());
  const common::JobId third = Submit().value();
  Rest();
  EXPECT_EQ(Job(third).reason(), "Waits: node a runs 2 jobs, its maximum.");
}

// What the reasons of the jobs of a line say.
struct Told {
  int all = 0;
  int answered = 0;
  int behind = 0;
  int others = 0;
  bool operator==(const Told&) const = default;
};
Told CountTold(const WaitingLine& line) {
  Told told;
  for (const auto& [shape, group] : line.groups()) {
    told.all += static_cast<int>(group.all.size());
    told.answered += static_cast<int>(group.answered.size());
    told.behind += static_cast<int>(group.behind.size());
    told.others += static_cast<int>(group.others.size());
  }
  return told;
}

// A long queue costs what a short one costs.
TEST_F(PlannerTest, JobsBehindOneThatWaitsAreNotLookedAtAgain) {
  state_.limits.generations_per_node = 1;
  ASSERT_OK(Report("a", 1, 1));
  ASSERT_OK(Report("b", 2, 1));
  const common::JobId running = Submit().value();
  const common::JobId large = Submit(/*nodes=*/2).value();
  std::vector<common::JobId> behind;
  for (int i = 0; i < 100; ++i) behind.push_back(Submit().value());
  Rest();
  EXPECT_EQ(Job(large).reason(), "Waits: node a runs 1 jobs, its maximum.");
  EXPECT_EQ(Job(behind.back()).reason(), "Waits behind earlier jobs that need no GPU.");
  const WaitingLine& line = state_.waiting.cpu_line;
  EXPECT_EQ(CountTold(line), (Told{.all = 101, .answered = 1, .behind = 100}));
  // A report that changes no offer leads to no pass over the queue.
  v1::NodeObserved report = Observed("b", 2);
  report.add_addresses("10.0.0.2");
  ASSERT_OK(Report(2, report));
  const Plan plan =
      MakePlan(state_, state_.agenda.Take(now_), now_, state_.waiting, &state_.ledger);
  EXPECT_FALSE(plan.queue_at.has_value());

  // The large job is cancelled. Those behind it are placed as long as there is room, and the first
  // of the others says why it waits.
  ASSERT_OK(CancelJob(large, /*at_once=*/false, &state_, &changes_));
  Rest();
  EXPECT_EQ(Job(behind[0]).phase(), v1::STARTING);
  EXPECT_EQ(Job(behind[1]).reason(), "Waits: node a runs 1 jobs, its maximum.");
  EXPECT_EQ(Job(behind[2]).reason(), "Waits behind earlier jobs that need no GPU.");
  EXPECT_EQ(CountTold(line), (Told{.all = 99, .answered = 1, .behind = 98}));
}

// Jobs that fit no node block no other job, so the queue is as long for each new one.
TEST_F(PlannerTest, JobsThatFitNowhereAreToldOnce) {
  ASSERT_OK(Report("a", 1, 1));
  for (int i = 0; i < 100; ++i) ASSERT_OK(Submit(/*nodes=*/2));
  Rest();
  const WaitingLine& line = state_.waiting.cpu_line;
  EXPECT_EQ(CountTold(line), (Told{.all = 100, .answered = 100}));
  const common::JobId newest = Submit(/*nodes=*/2).value();
  const Plan plan =
      MakePlan(state_, state_.agenda.Take(now_), now_, state_.waiting, &state_.ledger);
  ASSERT_EQ(plan.queue.cpu_news.size(), 1u);
  EXPECT_THAT(plan.queue.cpu_news[0].answered, ElementsAre(newest));
  EXPECT_FALSE(plan.queue.cpu_news[0].answer.has_value());
  EXPECT_THAT(plan.queue.cpu_news[0].behind, IsEmpty());
}

TEST_F(PlannerTest, TheOldestJobIsFirstWhateverItsShape) {
  state_.limits.generations_per_node = 1;
  const common::JobId large1 = Submit(/*nodes=*/2).value();
  const common::JobId small1 = Submit().value();
  const common::JobId large2 = Submit(/*nodes=*/2).value();
  const common::JobId small2 = Submit().value();
  Rest();
  for (int i = 1; i <= 3; ++i) {
    v1::NodeObserved report = Observed(absl::StrCat("n", i), 1);
    v1::StoreSocket* socket = report.add_store_sockets();
    socket->set_id(1);
    socket->set_address(report.address());
    socket->set_port(1000);
    ASSERT_OK(Report(static_cast<SessionId>(i), report));
  }
  Rest();
  EXPECT_EQ(Job(large1).phase(), v1::STARTING);
  EXPECT_EQ(Job(small1).phase(), v1::STARTING);
  EXPECT_EQ(Job(large2).reason(), "Waits: node n1 runs 1 jobs, its maximum.");
  EXPECT_EQ(Job(small2).reason(), "Waits behind earlier jobs that need no GPU.");
}

TEST_F(PlannerTest, AnotherAnswerIsToldToAllWhomItConcerns) {
  state_.limits.generations_per_node = 1;
  ASSERT_OK(Report("a", 1, 1));
  ASSERT_OK(Submit());
  std::vector<common::JobId> jobs;
  for (int i = 0; i < 10; ++i) jobs.push_back(Submit(/*nodes=*/2).value());
  const common::JobId small = Submit().value();
  Rest();
  for (const common::JobId& id : jobs) EXPECT_THAT(Job(id).reason(), HasSubstr("1 is connected"));
  EXPECT_EQ(Job(small).reason(), "Waits: node a runs 1 jobs, its maximum.");
  // With another node, the first of the large jobs waits for the one that runs. Those behind it,
  // and the small one, wait for it.
  ASSERT_OK(Report("b", 2, 1));
  Rest();
  EXPECT_EQ(Job(jobs[0]).reason(), "Waits: node a runs 1 jobs, its maximum.");
  EXPECT_EQ(Job(jobs[9]).reason(), "Waits behind earlier jobs that need no GPU.");
  EXPECT_EQ(Job(small).reason(), "Waits behind earlier jobs that need no GPU.");
  EXPECT_EQ(CountTold(state_.waiting.cpu_line), (Told{.all = 11, .answered = 1, .behind = 10}));
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
  std::vector<common::Generation> kept;
  for (const auto& record : Job(job).generations()) kept.push_back(record.generation());
  EXPECT_THAT(kept, ElementsAre(1, 5, 6));
  EXPECT_EQ(Job(job).membership_changes(), 5);
}

// No known input leads to this. If one exists, the coordinator still works.
TEST_F(PlannerTest, APlanThatDoesNotSettleIsContinuedLater) {
  ASSERT_OK(Report("a", 1, 1));
  state_.limits.start_deadline = absl::ZeroDuration();  // So each start is looked at immediately.
  const common::JobId job = Submit().value();
  for (common::Generation generation = 1; generation <= 200; ++generation) {
    AddEnded(job, generation, &state_.nodes.at(common::NodeId("a")).observed)
        ->set_store_socket_gone(true);
  }
  const Plan plan = Rest();
  EXPECT_FALSE(plan.actions.empty());
  EXPECT_GT(plan.wake_at, now_);
  EXPECT_LE(plan.wake_at, now_ + absl::Seconds(1));
  // The reasons in the plan were not written, so none of them is remembered.
  const Told told = CountTold(state_.waiting.cpu_line);
  EXPECT_EQ(told.answered + told.behind, 0);
}

}  // namespace
}  // namespace accel::coordinator
