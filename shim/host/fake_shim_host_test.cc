#include "shim/host/fake_shim_host.h"

#include <gtest/gtest.h>
#include <poll.h>

#include "common/status_matchers.h"

namespace accel::shim {
namespace {

using State = GenerationReport::State;

const common::JobId kJob("job");

StartCommand MakeStart(int generation) {
  StartCommand start;
  start.id = {kJob, generation};
  start.workers = {{2, 0, {}}, {3, 1, {}}};
  return start;
}

bool Readable(const FakeShimHost& host) {
  pollfd wake = {host.wake_fd(), POLLIN, 0};
  return poll(&wake, 1, 0) == 1;
}

ShimReport TakeOnly(FakeShimHost* host) {
  EXPECT_TRUE(Readable(*host));
  auto reports = host->TakeReports();
  EXPECT_EQ(reports.size(), 1u);
  EXPECT_FALSE(Readable(*host));
  return reports.empty() ? ShimReport() : reports[0];
}

TEST(FakeShimHostTest, RunsAGeneration) {
  FakeShimHost host;
  ASSERT_OK(host.StartShim(kJob));
  EXPECT_FALSE(Readable(host));
  ASSERT_OK(host.StartGeneration(MakeStart(1), common::UniqueFd()));
  EXPECT_EQ(TakeOnly(&host).generation->state, State::kStarting);
  host.ExecDone(kJob);
  const ShimReport running = TakeOnly(&host);
  EXPECT_EQ(running.generation->state, State::kRunning);
  EXPECT_EQ(running.generation->workers[1].rank, 3);
  EXPECT_GT(running.generation->workers[1].pid, 0);
  host.Exit(kJob, 2, ExitFact{});
  EXPECT_EQ(TakeOnly(&host).generation->state, State::kRunning);
  host.Exit(kJob, 3, ExitFact{});
  EXPECT_EQ(TakeOnly(&host).generation->state, State::kEnded);
  host.EndShim(kJob);
  EXPECT_TRUE(TakeOnly(&host).shim_ended);
  EXPECT_FALSE(host.has_shim(kJob));
}

TEST(FakeShimHostTest, RecordsStops) {
  FakeShimHost host;
  ASSERT_OK(host.StartShim(kJob));
  ASSERT_OK(host.StartGeneration(MakeStart(1), common::UniqueFd()));
  ASSERT_OK(host.StopGeneration({{kJob, 1}, absl::Seconds(5)}));
  EXPECT_EQ(TakeOnly(&host).generation->state, State::kStopping);
  EXPECT_EQ(host.stops().at(0).grace, absl::Seconds(5));
  host.ExitAll(kJob, ExitFact{ExitFact::Kind::kSignalled, 0, 15, false, false, ""});
  EXPECT_EQ(TakeOnly(&host).generation->workers[0].exit->signal, 15);
  ASSERT_OK(host.StopGeneration({{kJob, 1}, absl::Seconds(5)}));
  EXPECT_EQ(host.stops().size(), 1u) << "it had ended";
}

TEST(FakeShimHostTest, KilledShim) {
  FakeShimHost host;
  ASSERT_OK(host.StartShim(kJob));
  ASSERT_OK(host.StartGeneration(MakeStart(1), common::UniqueFd()));
  host.ExecDone(kJob);
  host.Exit(kJob, 2, ExitFact{ExitFact::Kind::kExited, 3, 0, false, false, ""});
  host.KillShim(kJob);
  const ShimReport report = TakeOnly(&host);
  EXPECT_TRUE(report.shim_ended);
  EXPECT_EQ(report.generation->state, State::kEnded);
  EXPECT_EQ(report.generation->workers[0].exit->code, 3);
  EXPECT_EQ(report.generation->workers[1].exit->kind, ExitFact::Kind::kShimDied);
  EXPECT_TRUE(absl::IsNotFound(host.StartGeneration(MakeStart(2), common::UniqueFd())));
}

TEST(FakeShimHostTest, AShimThatLeavesTakesNoStart) {
  FakeShimHost host;
  host.HoldLeaving(true);
  ASSERT_OK(host.StartShim(kJob));
  host.EndShim(kJob);
  host.EndShim(kJob);
  EXPECT_FALSE(Readable(host));
  EXPECT_TRUE(absl::IsFailedPrecondition(host.StartGeneration(MakeStart(1), common::UniqueFd())));
  EXPECT_TRUE(absl::IsAlreadyExists(host.StartShim(kJob)));
  host.HoldLeaving(false);
  EXPECT_TRUE(TakeOnly(&host).shim_ended);
  EXPECT_OK(host.StartShim(kJob));
}

TEST(FakeShimHostTest, HasTheErrorsOfTheRealHost) {
  FakeShimHost host;
  EXPECT_TRUE(absl::IsNotFound(host.StartGeneration(MakeStart(1), common::UniqueFd())));
  EXPECT_TRUE(absl::IsNotFound(host.StopGeneration({{kJob, 1}, absl::ZeroDuration()})));
  host.EndShim(kJob);
  host.FailNextShim(absl::InternalError("no shim"));
  EXPECT_TRUE(absl::IsInternal(host.StartShim(kJob)));
  ASSERT_OK(host.StartShim(kJob));
  EXPECT_TRUE(absl::IsAlreadyExists(host.StartShim(kJob)));
  ASSERT_OK(host.StartGeneration(MakeStart(1), common::UniqueFd()));
  ASSERT_OK(host.StartGeneration(MakeStart(1), common::UniqueFd()));
  EXPECT_EQ(host.starts().size(), 1u);
  EXPECT_TRUE(absl::IsFailedPrecondition(host.StartGeneration(MakeStart(2), common::UniqueFd())));
  host.FailToStart(kJob, ExitFact{ExitFact::Kind::kNotStarted, 127, 0, false, false, "gone"});
  ASSERT_OK(host.StartGeneration(MakeStart(2), common::UniqueFd()));
}

}  // namespace
}  // namespace accel::shim
