// Shims that outlive their host, as the shims of a killed agent do, and the host that adopts them.
#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "shim/shim_adopt_test_base.h"

namespace accel::shim {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;
using State = GenerationReport::State;
using Kind = ExitFact::Kind;

TEST_F(ShimAdoptTest, AdoptsRunningWorkersAndExactEndsOfThoseThatEndedMeanwhile) {
  const auto start = Kept(
      "echo begin; while [ ! -e go ]; do sleep 0.01; done; echo middle >&2; "
      "if [ $RANK = 0 ]; then exit 7; fi; if [ $RANK = 1 ]; then kill -SEGV $$; fi; "
      "while [ ! -e end ]; do sleep 0.01; done; echo end; exit 0",
      3);
  Start(start);
  for (int rank : {0, 1, 2}) AwaitOutput(start, rank, "begin");
  const GenerationReport before = AwaitState(kJob, State::kRunning);
  DestroyHost();
  Touch("go");
  AwaitProcessEnd(static_cast<pid_t>(before.workers[0].pid));
  AwaitProcessEnd(static_cast<pid_t>(before.workers[1].pid));

  NewHost();
  const ShimReport adopted = AdoptOnly();
  EXPECT_EQ(adopted.job, kJob);
  EXPECT_FALSE(adopted.shim_ended);
  ASSERT_TRUE(adopted.generation.has_value());
  EXPECT_EQ(adopted.generation->id, start.id);
  EXPECT_EQ(adopted.generation->log_dir, start.log_dir);
  EXPECT_EQ(adopted.generation->orphan_grace, start.orphan_grace);
  for (int rank : {0, 1, 2}) {
    EXPECT_EQ(adopted.generation->workers[rank].pid, before.workers[rank].pid);
    EXPECT_EQ(adopted.generation->workers[rank].start_time_ticks,
              before.workers[rank].start_time_ticks);
  }
  const ShimReport ends = Await(kJob, [](const ShimReport& seen) {
    return seen.generation && seen.generation->workers[0].exit && seen.generation->workers[1].exit;
  });
  EXPECT_EQ(ends.generation->workers[0].exit->code, 7);
  EXPECT_THAT(ends.generation->workers[0].last_lines, ::testing::ElementsAre("middle"));
  EXPECT_EQ(ends.generation->workers[1].exit->signal, SIGSEGV);
  EXPECT_FALSE(ends.generation->workers[2].exit.has_value());
  Touch("end");
  const GenerationReport ended = AwaitState(kJob, State::kEnded);
  EXPECT_TRUE(ended.workers[2].exit->ok());
  EXPECT_EQ(Output(start, 2), "begin\nend\n");
  EXPECT_EQ(Output(start, 2, logs::LogStream::kStderr), "middle\n");
  EndShim(kJob);
  EXPECT_TRUE(NoFolderIsLeft());
}

TEST_F(ShimAdoptTest, AnAdoptedShimTakesStopsAndTheNextGeneration) {
  Start(Kept("sleep 1000"));
  AwaitState(kJob, State::kRunning);
  NewHost();
  const ShimReport adopted = AdoptOnly();
  ASSERT_OK(host().StopGeneration({adopted.generation->id, absl::Seconds(20)}));
  EXPECT_EQ(AwaitState(kJob, State::kEnded).workers[0].exit->signal, SIGTERM);
  const pid_t shim = Record().pid;
  const auto next = Kept("exit 4");
  ASSERT_OK(host().StartGeneration(next, common::UniqueFd()));
  EXPECT_EQ(AwaitState(kJob, State::kEnded).workers[0].exit->code, 4);
  EXPECT_EQ(Record().pid, shim);
  EXPECT_EQ(Record().generation, next.id.generation);
  EndShim(kJob);
  EXPECT_TRUE(NoFolderIsLeft());
}

TEST_F(ShimAdoptTest, AJobThatEndedWithoutAHostLeavesItsResultAndNoProcess) {
  const auto start =
      Kept("while [ ! -e go ]; do sleep 0.01; done; echo last >&2; exit $((RANK + 5))", 2);
  Start(start);
  AwaitState(kJob, State::kRunning);
  const pid_t shim = Record().pid;
  DestroyHost();
  Touch("go");
  AwaitProcessEnd(shim);
  for (int i = 0; i < 2; ++i) {  // The result remains until it is forgotten.
    NewHost();
    const ShimReport adopted = AdoptOnly();
    EXPECT_TRUE(adopted.shim_ended);
    EXPECT_EQ(adopted.generation->state, State::kEnded);
    EXPECT_FALSE(adopted.generation->failure.has_value());
    EXPECT_EQ(adopted.generation->workers[0].exit->code, 5);
    EXPECT_EQ(adopted.generation->workers[1].exit->code, 6);
    EXPECT_THAT(adopted.generation->workers[1].last_lines, ::testing::ElementsAre("last"));
  }
  host().Forget(kJob);
  EXPECT_TRUE(NoFolderIsLeft());
}

TEST_F(ShimAdoptTest, AJobThatIsNotKeptEndsWithItsHostAndSaysWhy) {
  Start(Script("sleep 1000"));
  AwaitState(kJob, State::kRunning);
  DestroyHost();
  EXPECT_THAT(Living(), IsEmpty());
  NewHost();
  const ShimReport adopted = AdoptOnly();
  EXPECT_TRUE(adopted.shim_ended);
  EXPECT_EQ(adopted.generation->failure->kind, Kind::kAbandoned);
  EXPECT_THAT(adopted.generation->failure->message, ::testing::HasSubstr("on_agent_loss"));
  EXPECT_EQ(adopted.generation->workers[0].exit->signal, SIGTERM);
  host().Forget(kJob);
}

TEST_F(ShimAdoptTest, WhatAShimThatDiedWithItsHostHasLeftIsEnded) {
  const auto start = Kept("trap '' TERM; setsid sh -c '(sleep 1000 &); sleep 1000' & sleep 1000");
  auto other = Kept("");
  other.argv = {"sleep", "1000"};  // No shell: a process has no environment while it executes.
  other.id.job = common::JobId("other");
  Start(start);
  Start(other);
  for (const auto& job : {kJob, other.id.job}) {
    Await(job, [](const ShimReport& seen) {
      return seen.generation && seen.generation->state == State::kRunning;
    });
  }
  AwaitLiving(5);
  const pid_t shim = Record().pid;
  DestroyHost();
  kill(shim, SIGKILL);
  AwaitProcessEnd(shim);
  NewHost();
  std::vector<ShimReport> reports = host().Adopt();
  ASSERT_THAT(reports, SizeIs(2));
  if (reports[0].job != kJob) std::swap(reports[0], reports[1]);
  EXPECT_TRUE(reports[0].shim_ended);
  EXPECT_EQ(reports[0].generation->state, State::kEnded);
  EXPECT_EQ(reports[0].generation->failure->kind, Kind::kShimDied);
  EXPECT_EQ(reports[0].generation->workers[0].exit->kind, Kind::kShimDied);
  EXPECT_EQ(reports[1].generation->state, State::kRunning);
  EXPECT_THAT(Living(), SizeIs(1)) << "the other job is not disturbed";
  host().Forget(kJob);
  EndShim(other.id.job);
  EXPECT_TRUE(NoFolderIsLeft());
}

TEST_F(ShimAdoptTest, AnAdoptedShimThatDiesLaterIsReported) {
  Start(Kept("trap '' TERM; setsid sleep 1000 & sleep 1000"));
  AwaitLiving(3);
  NewHost();
  AdoptOnly();
  kill(Record().pid, SIGKILL);
  const ShimReport report = Await(kJob, [](const ShimReport& seen) { return seen.shim_ended; });
  EXPECT_EQ(report.generation->failure->kind, Kind::kShimDied);
  EXPECT_THAT(Living(), IsEmpty());
  host().Forget(kJob);
}

// The agent was killed between the intent and the spawn.
TEST_F(ShimAdoptTest, AnIntentWithoutAProcessIsNothing) {
  ShimRecord intent;
  intent.boot_id = kBoot;
  WriteRecord(intent);
  auto folder = ShimFolder::Make(shims_dir(), kJob);
  ASSERT_OK(folder);
  folder->Listen().status().IgnoreError();  // The listener died with the agent.
  EXPECT_THAT(host().Adopt(), IsEmpty());
  EXPECT_TRUE(NoFolderIsLeft());
}

// The agent was killed between the spawn and the record of the pid.
TEST_F(ShimAdoptTest, AProcessThatWasNotRecordedIsFoundByItsSocket) {
  Start(Kept("sleep 1000"));
  const GenerationReport before = AwaitState(kJob, State::kRunning);
  const pid_t shim = Record().pid;
  DestroyHost();
  ShimRecord intent;
  intent.boot_id = kBoot;
  WriteRecord(intent);
  NewHost();
  const ShimReport adopted = AdoptOnly();
  EXPECT_EQ(adopted.generation->workers[0].pid, before.workers[0].pid);
  EXPECT_EQ(Record().pid, shim);
  kill(shim, SIGKILL);
  Await(kJob, [](const ShimReport& seen) { return seen.shim_ended; });
  EXPECT_THAT(Living(), IsEmpty());
  host().Forget(kJob);
}

// The agent was killed between the record of a generation and the moment at which its shim received
// the start. The generation is none, so that it can be started again.
TEST_F(ShimAdoptTest, AStartThatWasNotReceivedIsNothing) {
  ASSERT_OK(host().StartShim(kJob));
  ShimRecord record = Record();
  DestroyHost();
  AwaitProcessEnd(record.pid);
  record.generation = 1;
  record.ranks = {0};
  record.log_dir = folder() + "/logs/1";
  record.keep_without_agent = true;
  WriteRecord(record);
  NewHost();
  const ShimReport adopted = AdoptOnly();
  EXPECT_FALSE(adopted.generation.has_value());
  EXPECT_TRUE(adopted.shim_ended);
  EXPECT_TRUE(NoFolderIsLeft());
}

// The agent was killed before it had received any report, and the shim with it. Workers have run,
// so their ranks must not run again in this generation.
TEST_F(ShimAdoptTest, AStartThatWasReceivedIsAFailureAlthoughNothingWasReported) {
  Start(Kept("exec sleep 1000"));
  AwaitLiving(1);
  const pid_t shim = Record().pid;
  DestroyHost();
  kill(shim, SIGKILL);
  AwaitProcessEnd(shim);
  NewHost();
  const ShimReport adopted = AdoptOnly();
  EXPECT_TRUE(adopted.shim_ended);
  ASSERT_TRUE(adopted.generation.has_value());
  EXPECT_EQ(adopted.generation->failure->kind, Kind::kShimDied);
  EXPECT_THAT(Living(), IsEmpty());
  host().Forget(kJob);
}

// The same, with a shim that still lives when the next agent connects.
TEST_F(ShimAdoptTest, AShimThatHasNotReceivedItsStartTakesItFromTheNextHost) {
  ASSERT_OK(host().StartShim(kJob));
  ShimRecord record = Record();
  record.generation = 1;
  record.ranks = {0};
  record.log_dir = folder() + "/logs/1";
  WriteRecord(record);
  PosixShimHost::Options options = HostOptions();
  PosixShimHost next(std::move(options));
  const std::vector<ShimReport> reports = next.Adopt();
  ASSERT_THAT(reports, SizeIs(1));
  EXPECT_FALSE(reports[0].generation.has_value());
  EXPECT_FALSE(reports[0].shim_ended);
  ASSERT_OK(next.StartGeneration(Kept("exit 4"), common::UniqueFd()));
  std::vector<ShimReport> news;
  while (news.empty() || news[0].generation->state != State::kEnded) {
    std::vector<ShimReport> taken = next.TakeReports();
    if (!taken.empty()) news = std::move(taken);
  }
  EXPECT_EQ(news[0].generation->workers[0].exit->code, 4);
  next.EndShim(kJob);
  AwaitProcessEnd(record.pid);
}

TEST_F(ShimAdoptTest, AStartThatTheNextGenerationsShimNeverReceivedLeavesTheResultOfTheFirst) {
  Start(Kept("exit 4"));
  AwaitState(kJob, State::kEnded);
  ShimRecord record = Record();
  ++record.generation;
  WriteRecord(record);
  NewHost();
  const ShimReport adopted = AdoptOnly();
  EXPECT_EQ(adopted.generation->id.generation, 1);
  EXPECT_EQ(adopted.generation->state, State::kEnded);
  EXPECT_EQ(adopted.generation->workers[0].exit->code, 4);
  if (!adopted.shim_ended) EndShim(kJob);
  host().Forget(kJob);
}

// The same, and no agent ever comes.
TEST_F(ShimAdoptTest, AShimWithoutAGenerationDoesNotOutliveItsHost) {
  ASSERT_OK(host().StartShim(kJob));
  const pid_t shim = Record().pid;
  DestroyHost();
  AwaitProcessEnd(shim);
  NewHost();
  EXPECT_THAT(host().Adopt(), IsEmpty());
  EXPECT_TRUE(NoFolderIsLeft());
}

TEST_F(ShimAdoptTest, RecordsOfAnotherBootAreVoid) {
  Start(Kept("exit 0"));
  AwaitState(kJob, State::kEnded);
  const pid_t shim = Record().pid;
  DestroyHost();
  AwaitProcessEnd(shim);
  // After a reboot the pid may belong to any process, here to this one.
  ShimRecord record = Record();
  record.pid = getpid();
  record.start_time_ticks = process::ReadProcess(getpid())->start_time_ticks;
  WriteRecord(record);
  NewHost("the next boot");
  EXPECT_THAT(host().Adopt(), IsEmpty());
  EXPECT_TRUE(NoFolderIsLeft());
}

TEST_F(ShimAdoptTest, AStoppedShimKeepsItsJobAndIsHeardLater) {
  Start(Kept("while [ ! -e go ]; do sleep 0.01; done; exit 6"));
  AwaitState(kJob, State::kRunning);
  const pid_t shim = Record().pid;
  kill(shim, SIGSTOP);
  NewHost(kBoot, absl::Milliseconds(50));
  const ShimReport adopted = AdoptOnly();
  EXPECT_EQ(adopted.generation->state, State::kRunning);
  EXPECT_EQ(adopted.generation->workers[0].pid, 0) << "only the shim knows it";
  Touch("go");
  kill(shim, SIGCONT);
  EXPECT_EQ(AwaitState(kJob, State::kEnded).workers[0].exit->code, 6);
  EndShim(kJob);
}

}  // namespace
}  // namespace accel::shim
