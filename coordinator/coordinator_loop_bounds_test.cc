// The loop bounds what it keeps for callers, and remembers the ends of jobs that it
// no longer keeps.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/coordinator_loop_fixture.h"
#include "coordinator/store/memory_store.h"

namespace accel::coordinator {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

TEST_F(CoordinatorLoopTest, ARepeatedSubmitAndALateWatcherReceiveTheEndOfADroppedJob) {
  CoordinatorLoop::Options options = Options();
  options.limits.max_finished_jobs = 0;  // A job is dropped in the same batch that ends it.
  MemoryStore store;
  options.store = &store;
  CoordinatorLoop loop(std::move(options));
  ASSERT_OK(loop.Load());
  std::vector<std::string> ids;
  const auto submit = [&] {
    loop.SubmitJob(Owner(), "one", Spec(), [&ids](absl::StatusOr<common::JobId> job) {
      ASSERT_OK(job);
      ids.push_back(job->value());
    });
    loop.RunOnce();
  };
  submit();
  std::vector<v1::JobPhase> early, late;
  const auto watch = [&](std::vector<v1::JobPhase>* seen) {
    return loop.WatchJob(Owner(), common::JobId(ids.at(0)), 0, [seen](absl::StatusOr<JobPtr> job) {
      ASSERT_OK(job);
      seen->push_back((*job)->phase());
    });
  };
  const auto first = watch(&early);
  loop.CancelJob(Owner(), common::JobId(ids.at(0)), false,
                 [](absl::Status status) { EXPECT_OK(status); });
  loop.RunOnce();
  EXPECT_EQ(early, (std::vector<v1::JobPhase>{v1::PENDING, v1::CANCELLED}));
  const auto second = watch(&late);
  loop.RunOnce();
  EXPECT_EQ(late, std::vector<v1::JobPhase>{v1::CANCELLED});
  submit();
  EXPECT_EQ(ids, (std::vector<std::string>{ids.at(0), ids.at(0)}));
}

TEST_F(CoordinatorLoopTest, NodesAreDescribedAsCommitted) {
  const auto agent = Connect(&loop_);
  agent->session->Report(Observed(1));
  Settle();
  std::optional<absl::StatusOr<common::JobId>> job;
  Submit("one", &job);  // Placed, but not stored yet.
  std::vector<int> running;
  const auto ask = [&] {
    loop_.ListNodes([&running](absl::StatusOr<v1::ListNodesResponse> nodes) {
      ASSERT_OK(nodes);
      running.push_back(nodes->nodes(0).running_size());
    });
    loop_.RunOnce();
  };
  ask();
  store_.Succeed();
  loop_.RunOnce();
  ask();
  EXPECT_EQ(running, (std::vector<int>{0, 1}));
}

TEST_F(CoordinatorLoopTest, WatchersAreBoundedByWhatTheyMayHold) {
  v1::JobSpec large = Spec();
  for (int i = 0; i < 8; ++i) large.add_argv(std::string(100'000, 'x'));
  std::optional<common::JobId> job;
  loop_.SubmitJob(Owner(), "large", large,
                  [&job](absl::StatusOr<common::JobId> id) { job = *std::move(id); });
  loop_.RunOnce();
  store_.Succeed();
  loop_.RunOnce();
  ASSERT_TRUE(job.has_value());
  std::vector<std::unique_ptr<Subscription>> watches;
  std::optional<absl::Status> refused;
  const auto watch = [&] {
    watches.push_back(loop_.WatchJob(Owner(), *job, 0, [&refused](absl::StatusOr<JobPtr> seen) {
      if (!seen.ok()) refused = seen.status();
    }));
    loop_.RunOnce();
  };
  while (!refused.has_value() && watches.size() < 2000) watch();
  ASSERT_TRUE(refused.has_value());
  EXPECT_THAT(*refused, StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("bytes")));
  EXPECT_GT(watches.size(), 100u);
  watches.pop_back();
  watches.pop_back();
  refused.reset();
  watch();
  EXPECT_FALSE(refused.has_value());
  // When the loop ends it answers the open watches, which write to `refused`.
  watches.clear();
  loop_.RunOnce();
}

}  // namespace
}  // namespace accel::coordinator
