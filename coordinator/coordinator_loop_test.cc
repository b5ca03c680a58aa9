#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/synchronization/notification.h"
#include "coordinator/coordinator_loop_fixture.h"
#include "coordinator/store/memory_store.h"

namespace accel::coordinator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::StatusIs;

TEST_F(CoordinatorLoopTest, AnswersAndPublishesOnlyWhatIsCommitted) {
  const auto agent = Connect(&loop_);
  agent->session->Report(Observed(1));
  Settle();
  ASSERT_EQ(agent->desired.size(), 1u);
  EXPECT_EQ(agent->desired[0]->generations_size(), 0);

  std::optional<absl::StatusOr<common::JobId>> job;
  Submit("one", &job);
  ASSERT_TRUE(store_.pending().has_value());
  EXPECT_EQ(Committing().size(), 1u);
  EXPECT_FALSE(job.has_value());
  EXPECT_EQ(agent->desired.size(), 1u);

  store_.Succeed();
  loop_.RunOnce();
  ASSERT_TRUE(job.has_value());
  ASSERT_OK(*job);
  ASSERT_EQ(agent->desired.size(), 2u);
  EXPECT_EQ(agent->desired[1]->generations(0).key().job_id(), (*job)->value());
  EXPECT_GT(agent->desired[1]->version(), agent->desired[0]->version());
  EXPECT_EQ(agent->desired[1]->incarnation(), "a-1");
}

TEST_F(CoordinatorLoopTest, WhatPilesUpSharesOneCommit) {
  const int commits = store_.commits();
  std::optional<absl::StatusOr<common::JobId>> first, second, third;
  Submit("one", &first);
  Submit("two", &second);
  Submit("three", &third);
  EXPECT_EQ(Committing().size(), 1u);
  store_.Succeed();
  loop_.RunOnce();
  EXPECT_TRUE(first.has_value());
  EXPECT_FALSE(second.has_value());
  EXPECT_EQ(Committing().size(), 2u);
  store_.Succeed();
  loop_.RunOnce();
  EXPECT_TRUE(second.has_value());
  EXPECT_TRUE(third.has_value());
  EXPECT_EQ(store_.commits(), commits + 2);
}

TEST_F(CoordinatorLoopTest, AFailedCommitIsAnsweredAndTriedAgain) {
  const auto agent = Connect(&loop_);
  agent->session->Report(Observed(1));
  Settle();
  std::optional<absl::StatusOr<common::JobId>> first;
  Submit("one", &first);
  store_.Fail(absl::InternalError("disk full"));
  const absl::Time retry_at = loop_.RunOnce();
  ASSERT_TRUE(first.has_value());
  EXPECT_THAT(*first, StatusIs(absl::StatusCode::kUnavailable,
                               HasSubstr("takes no new jobs; running jobs go on (disk full)")));
  EXPECT_FALSE(store_.pending().has_value());
  const size_t told = agent->desired.size();

  // The client's retry is refused immediately, because it could not be stored either.
  std::optional<absl::StatusOr<common::JobId>> again;
  Submit("one", &again);
  EXPECT_THAT(*again, StatusIs(absl::StatusCode::kUnavailable, HasSubstr("disk full")));
  EXPECT_GT(retry_at, clock_.Now());
  clock_.Advance(retry_at - clock_.Now());
  loop_.RunOnce();
  ASSERT_TRUE(store_.pending().has_value());
  EXPECT_EQ(Committing().size(), 1u);
  EXPECT_EQ(agent->desired.size(), told);

  // The commit fails again, so the next retry comes later.
  store_.Fail(absl::InternalError("disk full"));
  EXPECT_GT(loop_.RunOnce() - clock_.Now(), absl::Milliseconds(100));
  clock_.Advance(absl::Seconds(1));
  loop_.RunOnce();
  store_.Succeed();
  Settle();

  // The job that was refused never starts. The next retry makes another one.
  for (size_t i = told; i < agent->desired.size(); ++i) {
    for (const v1::DesiredGeneration& each : agent->desired[i]->generations()) {
      EXPECT_TRUE(each.stop()) << each.key().job_id();
    }
  }
  std::optional<absl::StatusOr<common::JobId>> third;
  Submit("one", &third);
  Settle();
  ASSERT_OK(*third);
  const v1::DesiredGeneration& newest = *agent->desired.back()->generations().rbegin();
  EXPECT_EQ((*third)->value(), newest.key().job_id());
  EXPECT_FALSE(newest.stop());
}

TEST_F(CoordinatorLoopTest, WhileTheStoreFailsARepeatedSubmitFindsItsEndedJob) {
  std::optional<absl::StatusOr<common::JobId>> first, other, again;
  Submit("one", &first);
  Settle();
  loop_.CancelJob(Owner(), **first, /*at_once=*/false, [](absl::Status) {});
  Settle();
  loop_.Stop();
  // This loop keeps only the end of the job.
  CoordinatorLoop::Options options = Options();
  options.limits.max_finished_jobs = 0;
  CoordinatorLoop next(std::move(options));
  ASSERT_OK(next.Load());
  Settle(&next);
  next.SubmitJob(Owner(), "other", Spec(), [&other](auto job) { other = job; });
  next.RunOnce();
  store_.Fail(absl::InternalError("disk full"));
  next.RunOnce();
  EXPECT_THAT(*other, StatusIs(absl::StatusCode::kUnavailable, HasSubstr("disk full")));
  next.SubmitJob(Owner(), "one", Spec(), [&again](auto job) { again = job; });
  next.RunOnce();
  clock_.Advance(absl::Seconds(1));
  Settle(&next);
  ASSERT_OK(*again);
  EXPECT_EQ(**again, **first);
}

TEST_F(CoordinatorLoopTest, AGenerationIsForgottenOnlyOnceItsFactsAreCommitted) {
  const auto agent = Connect(&loop_);
  agent->session->Report(Observed(1));
  Settle();
  std::optional<absl::StatusOr<common::JobId>> job;
  Submit("one", &job);
  store_.Succeed();
  loop_.RunOnce();
  v1::NodeObserved ended = Observed(2);
  AddGeneration((*job)->value(), 1, v1::ObservedGeneration::ENDED, &ended);
  agent->session->Report(ended);
  loop_.RunOnce();
  ASSERT_TRUE(store_.pending().has_value());
  EXPECT_EQ(Committing().at(0).phase(), v1::SUCCEEDED);
  EXPECT_EQ(agent->desired.back()->forget_size(), 0);
  store_.Succeed();
  loop_.RunOnce();
  EXPECT_EQ(agent->desired.back()->generations_size(), 0);
  ASSERT_EQ(agent->desired.back()->forget_size(), 1);
}

TEST_F(CoordinatorLoopTest, QuestionsAreAnsweredDuringACommitFromWhatIsCommitted) {
  std::optional<absl::StatusOr<common::JobId>> job;
  Submit("one", &job);
  std::optional<absl::StatusOr<std::vector<JobPtr>>> listed;
  loop_.ListJobs(Owner(), common::JobId(), [&listed](auto jobs) { listed = std::move(jobs); });
  loop_.RunOnce();
  ASSERT_OK(*listed);
  EXPECT_TRUE((*listed)->empty());
  store_.Succeed();
  loop_.RunOnce();
  loop_.ListJobs(Owner(), **job, [&listed](auto jobs) { listed = std::move(jobs); });
  loop_.RunOnce();
  ASSERT_EQ((*listed)->size(), 1u);
  loop_.ListJobs(Owner(), common::JobId("nope"),
                 [&listed](auto jobs) { listed = std::move(jobs); });
  loop_.RunOnce();
  EXPECT_THAT(*listed, StatusIs(absl::StatusCode::kNotFound, HasSubstr("nope")));
}

TEST_F(CoordinatorLoopTest, AWatcherSeesEachVersionUntilTheFinalOne) {
  std::optional<absl::StatusOr<common::JobId>> job;
  Submit("one", &job);
  store_.Succeed();
  loop_.RunOnce();
  std::vector<v1::JobPhase> seen;
  const auto watch = loop_.WatchJob(Owner(), **job, 0, [&seen](absl::StatusOr<JobPtr> now) {
    ASSERT_OK(now);
    seen.push_back((*now)->phase());
  });
  std::optional<absl::StatusOr<JobPtr>> missing;
  const auto no_watch = loop_.WatchJob(Owner(), common::JobId("nope"), 0,
                                       [&missing](absl::StatusOr<JobPtr> now) { missing = now; });
  loop_.RunOnce();
  EXPECT_THAT(*missing, StatusIs(absl::StatusCode::kNotFound, HasSubstr("nope")));
  EXPECT_EQ(seen, std::vector<v1::JobPhase>{v1::PENDING});

  loop_.CancelJob(Owner(), **job, false, [](absl::Status status) { EXPECT_OK(status); });
  loop_.RunOnce();
  EXPECT_EQ(seen.size(), 1u);
  store_.Succeed();
  loop_.RunOnce();
  EXPECT_EQ(seen, (std::vector<v1::JobPhase>{v1::PENDING, v1::CANCELLED}));

  // A late watcher of a finished job still receives the job, even if it has this version.
  std::vector<uint64_t> versions;
  const auto late = loop_.WatchJob(Owner(), **job, 1'000, [&versions](absl::StatusOr<JobPtr> now) {
    versions.push_back((*now)->version());
  });
  loop_.RunOnce();
  EXPECT_EQ(versions.size(), 1u);
}

TEST_F(CoordinatorLoopTest, SaysWhenToCallAgain) {
  const auto agent = Connect(&loop_);
  agent->session->Report(Observed(1));
  Settle();
  std::optional<absl::StatusOr<common::JobId>> job;
  Submit("one", &job);
  store_.Succeed();
  // The next event would be the node's silence. The loop wakes earlier, to detect its own absences.
  const absl::Time silent_from = clock_.Now() + Limits().node_timeout;
  int turns = 0;
  for (absl::Time next = loop_.RunOnce(); next < silent_from; next = loop_.RunOnce()) {
    EXPECT_GT(next, clock_.Now());
    clock_.Advance(next - clock_.Now());
    ++turns;
  }
  EXPECT_LE(turns, 10);
  clock_.Advance(silent_from - absl::Milliseconds(1) - clock_.Now());
  // It wakes a little later than something is due, and then finds more that is.
  EXPECT_EQ(loop_.RunOnce() - silent_from, absl::Milliseconds(20));
  clock_.Advance(silent_from - clock_.Now());
  loop_.RunOnce();
  store_.Succeed();
  loop_.RunOnce();
  std::optional<absl::StatusOr<std::vector<JobPtr>>> listed;
  loop_.ListJobs(Owner(), **job, [&listed](auto jobs) { listed = std::move(jobs); });
  loop_.RunOnce();
  EXPECT_THAT((**listed)[0]->reason(), HasSubstr("Node a is silent"));
}

TEST_F(CoordinatorLoopTest, ANewLoopContinuesFromTheStore) {
  const auto agent = Connect(&loop_);
  agent->session->Report(Observed(1));
  Settle();
  std::optional<absl::StatusOr<common::JobId>> job;
  Submit("one", &job);
  store_.Succeed();
  loop_.RunOnce();
  loop_.Stop();
  EXPECT_THAT(*agent->closed, StatusIs(absl::StatusCode::kUnavailable, HasSubstr("shutting down")));

  CoordinatorLoop next(Options());
  ASSERT_OK(next.Load());
  Settle(&next);
  const auto returned = Connect(&next);
  v1::NodeObserved running = Observed(7);
  AddGeneration((*job)->value(), 1, v1::ObservedGeneration::RUNNING, &running);
  returned->session->Report(running);
  next.RunOnce();
  ASSERT_TRUE(store_.pending().has_value());
  EXPECT_EQ(Committing().at(0).phase(), v1::RUNNING);
  store_.Succeed();
  next.RunOnce();
  EXPECT_EQ(returned->desired.back()->generations(0).key().generation(), 1);
}

TEST(CoordinatorLoopThread, RunsAJobByItself) {
  MemoryStore store;
  CoordinatorLoop loop({.store = &store});
  ASSERT_OK(loop.Load());
  loop.Start();
  // This agent acts immediately on its desired state.
  absl::Notification ended;
  std::unique_ptr<AgentSession> session;
  absl::Notification opened;
  AgentCallbacks callbacks;
  callbacks.on_closed = [](absl::Status) {};
  callbacks.on_desired = [&, sequence = uint64_t{1}](const DesiredPtr& parts) mutable {
    const v1::NodeDesired desired = Whole(*parts);
    opened.WaitForNotification();
    v1::NodeObserved observed = Observed(++sequence);
    observed.set_applied_version(desired.version());
    for (const auto& generation : desired.generations()) {
      AddGeneration(generation.key().job_id(), 1, v1::ObservedGeneration::ENDED, &observed);
    }
    if (desired.forget_size() == 0) session->Report(observed);
  };
  session = loop.OpenAgentSession(Owner(), std::move(callbacks));
  opened.Notify();
  session->Report(Observed(1));
  std::unique_ptr<Subscription> watch;
  absl::Notification watching;
  loop.SubmitJob(Owner(), "one", Spec(), [&](absl::StatusOr<common::JobId> job) {
    ASSERT_OK(job);
    watch = loop.WatchJob(Owner(), *job, 0, [&ended](absl::StatusOr<JobPtr> now) {
      if (now.ok() && (*now)->phase() == v1::SUCCEEDED) ended.Notify();
    });
    watching.Notify();
  });
  EXPECT_TRUE(ended.WaitForNotificationWithTimeout(absl::Seconds(30)));
  watching.WaitForNotification();
  loop.Stop();
  absl::Status refused;
  loop.CancelJob(Owner(), common::JobId("x"), false,
                 [&refused](absl::Status status) { refused = status; });
  EXPECT_THAT(refused, StatusIs(absl::StatusCode::kUnavailable, HasSubstr("shutting down")));
}

TEST_F(CoordinatorLoopTest, ADrainIsAnsweredOnceItIsStored) {
  const auto agent = Connect(&loop_);
  agent->session->Report(Observed(1));
  Settle();
  std::vector<absl::Status> answers;
  const auto drain = [&](const std::string& node) {
    loop_.DrainNode(node, v1::FINISH_JOBS,
                    [&](absl::Status status) { answers.push_back(std::move(status)); });
    loop_.RunOnce();
  };
  drain("nowhere");
  EXPECT_THAT(answers, ElementsAre(StatusIs(absl::StatusCode::kNotFound, HasSubstr("nowhere"))));
  drain(Observed(1).name());
  EXPECT_EQ(answers.size(), 1u) << "it is not stored yet";
  store_.Succeed();
  loop_.RunOnce();
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_OK(answers.back());
  CoordinatorLoop next(Options());
  EXPECT_OK(next.Load());
  v1::Drain found = v1::NOT_DRAINED;
  next.ListNodes(
      [&](const absl::StatusOr<v1::ListNodesResponse>& nodes) { found = nodes->nodes(0).drain(); });
  next.RunOnce();
  EXPECT_EQ(found, v1::FINISH_JOBS);
}

}  // namespace
}  // namespace accel::coordinator
