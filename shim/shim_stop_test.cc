// When a generation ends, for whatever reason, no process of it is left (invariant 7). Each case
// runs without cgroups and, if the system allows them, with cgroups.
#include <gmock/gmock.h>
#include <signal.h>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/clock.h"
#include "common/status_matchers.h"
#include "shim/shim_test_base.h"

namespace accel::shim {
namespace {

using State = GenerationReport::State;

enum class Means { kCgroups, kSweep };

process::CgroupSupport Cgroups(Means means) {
  return means == Means::kCgroups ? process::ProbeCgroups() : process::CgroupSupport();
}

class ShimStopTest : public ShimTest, public ::testing::WithParamInterface<Means> {
 protected:
  ShimStopTest() : ShimTest(Cgroups(GetParam())) {}
  void SetUp() override {
    const process::CgroupSupport cgroups = Cgroups(GetParam());
    if (GetParam() == Means::kCgroups && cgroups.base.empty()) {
      GTEST_SKIP() << "no control groups: " << cgroups.description;
    }
  }

  void UseImpatientHost() {
    PosixShimHost::Options options;
    options.cgroups = Cgroups(GetParam());
    options.shim_slack = absl::Milliseconds(100);
    MakeHost(std::move(options));
  }

  GenerationReport Stop(const StartCommand& start, absl::Duration grace) {
    EXPECT_OK(host().StopGeneration({start.id, grace}));
    return AwaitState(start.id.job, State::kEnded);
  }
};

INSTANTIATE_TEST_SUITE_P(All, ShimStopTest, ::testing::Values(Means::kCgroups, Means::kSweep),
                         [](const auto& tested) {
                           return tested.param == Means::kCgroups ? "Cgroups" : "Sweep";
                         });

TEST_P(ShimStopTest, TermComesFirst) {
  const auto start =
      Script("trap 'echo bye; exit 9' TERM; echo ready; while :; do sleep 0.01; done");
  Start(start);
  AwaitOutput(start, 0, "ready");
  const auto report = Stop(start, absl::Seconds(25));
  EXPECT_EQ(report.workers[0].exit->code, 9);
  EXPECT_EQ(Output(start), "ready\nbye\n");
}

TEST_P(ShimStopTest, KillComesAfterTheGrace) {
  const auto start = Script("trap '' TERM; echo ready; while :; do sleep 0.01; done", 2);
  Start(start);
  AwaitOutput(start, 0, "ready");
  AwaitOutput(start, 1, "ready");
  const absl::Time begin = common::SteadyClock()->Now();
  const auto report = Stop(start, absl::Milliseconds(300));
  EXPECT_GE(common::SteadyClock()->Now() - begin, absl::Milliseconds(300));
  for (const WorkerReport& worker : report.workers) {
    EXPECT_EQ(worker.exit->kind, ExitFact::Kind::kSignalled);
    EXPECT_EQ(worker.exit->signal, SIGKILL);
    EXPECT_FALSE(worker.exit->out_of_memory);
  }
}

// The workers may take all processors, so that the shim does not run.
TEST_P(ShimStopTest, GraceOfZeroDoesNotWaitForTheShim) {
  if (GetParam() == Means::kSweep) GTEST_SKIP() << "without control groups, only the shim kills";
  const auto start = Script("echo ready; exec sleep 1000");
  Start(start);
  AwaitOutput(start, 0, "ready");
  const pid_t shim = OnlyShimPid();
  kill(shim, SIGSTOP);
  AwaitStopped(shim);
  EXPECT_OK(host().StopGeneration({start.id, absl::ZeroDuration()}));
  const absl::Time give_up = common::SteadyClock()->Now() + kTimeout;
  while (!Living().empty() && common::SteadyClock()->Now() < give_up) {
    absl::SleepFor(absl::Milliseconds(2));
  }
  EXPECT_TRUE(Living().empty());
  kill(shim, SIGCONT);
  EXPECT_EQ(AwaitState(start.id.job, State::kEnded).workers[0].exit->signal, SIGKILL);
}

TEST_P(ShimStopTest, GraceOfZeroKillsAtOnce) {
  const auto start = Script("trap 'exit 9' TERM; echo ready; while :; do sleep 0.01; done");
  Start(start);
  AwaitOutput(start, 0, "ready");
  EXPECT_EQ(Stop(start, absl::ZeroDuration()).workers[0].exit->signal, SIGKILL);
}

TEST_P(ShimStopTest, ShorterGraceReplacesALongerOne) {
  const auto start = Script("trap '' TERM; echo ready; while :; do sleep 0.01; done");
  Start(start);
  AwaitOutput(start, 0, "ready");
  ASSERT_OK(host().StopGeneration({start.id, absl::Hours(1)}));
  AwaitState(start.id.job, State::kStopping);
  ASSERT_OK(host().StopGeneration({start.id, absl::Hours(2)}));
  EXPECT_EQ(Stop(start, absl::ZeroDuration()).workers[0].exit->signal, SIGKILL);
}

TEST_P(ShimStopTest, EscapeBySetsidAndDoubleForkDiesWhenTheWorkersHaveEnded) {
  const auto start = Script("(setsid sh -c 'sleep 1000 & sleep 1000 & wait' &); echo left");
  const auto report = RunToEnd(start);
  EXPECT_TRUE(report.workers[0].exit->ok());
  EXPECT_EQ(Output(start), "left\n");
  EXPECT_THAT(Living(), ::testing::IsEmpty());
}

TEST_P(ShimStopTest, EscapeDiesOnStop) {
  const auto start = Script("(setsid sh -c 'trap \"\" TERM; sleep 1000' &); sleep 1000");
  Start(start);
  AwaitLiving(4);
  Stop(start, absl::Seconds(20));
  EXPECT_THAT(Living(), ::testing::IsEmpty());
}

TEST_P(ShimStopTest, StoppedProcessesGetTheirTerm) {
  const auto start = Script("trap 'exit 6' TERM; kill -STOP $$; while :; do :; done");
  Start(start);
  // A SIGCONT that came before the SIGSTOP would be lost.
  const GenerationReport running = AwaitState(start.id.job, State::kRunning);
  AwaitStopped(static_cast<pid_t>(running.workers[0].pid));
  EXPECT_EQ(Stop(start, absl::Seconds(20)).workers[0].exit->code, 6);
}

TEST_P(ShimStopTest, StoppedEscapesDie) {
  const auto start = Script("setsid sh -c 'kill -STOP $$; sleep 1000' & sleep 1000");
  Start(start);
  AwaitLiving(3);
  Stop(start, absl::ZeroDuration());
  EXPECT_THAT(Living(), ::testing::IsEmpty());
}

TEST_P(ShimStopTest, StormOfForksIsEmptied) {
  // Each child starts the next one before it ends, so a single scan would always miss one. The
  // storm begins last, because the shell would hardly get the processor beside it.
  const auto start = Script(
      "f() { sleep 0.001; f & }; i=0;"
      "while [ $i -lt 40 ]; do setsid sleep 1000 & i=$((i+1)); done; i=0;"
      "while [ $i -lt 40 ]; do f & i=$((i+1)); done; wait; sleep 1000");
  Start(start);
  AwaitState(start.id.job, State::kRunning);
  AwaitLiving(50);  // The shell, those that sleep, and some of the storm.
  Stop(start, absl::ZeroDuration());
  EXPECT_THAT(Living(), ::testing::IsEmpty());
}

TEST_P(ShimStopTest, EndOfTheShimKillsAtOnce) {
  const auto start = Script("trap '' TERM; echo ready; setsid sleep 1000 & sleep 1000");
  Start(start);
  AwaitOutput(start, 0, "ready");
  host().EndShim(start.id.job);
  const ShimReport report =
      Await(start.id.job, [](const ShimReport& seen) { return seen.shim_ended; });
  EXPECT_EQ(report.generation->state, State::kEnded);
  EXPECT_EQ(report.generation->workers[0].exit->signal, SIGKILL);
  EXPECT_THAT(Living(), ::testing::IsEmpty());
  EXPECT_TRUE(absl::IsNotFound(host().StopGeneration({start.id, absl::ZeroDuration()})));
}

TEST_P(ShimStopTest, AgentThatIsGoneEndsTheJobWithTheOrphanGrace) {
  const auto start =
      Script("trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.01; done");
  Start(start);
  AwaitOutput(start, 0, "ready");
  DestroyHost();  // Its sockets close as those of a dead agent do.
  EXPECT_THAT(Living(), ::testing::IsEmpty());
  EXPECT_EQ(Output(start), "ready\nbye\n");
}

TEST_P(ShimStopTest, KilledShimLeavesNothing) {
  const auto start = Script(
      "trap '' TERM; if [ $RANK = 1 ]; then exit 3; fi; setsid sh -c 'kill -STOP $$' & "
      "setsid sh -c '(sleep 1000 &); sleep 1000' & echo ready; sleep 1000",
      2);
  Start(start);
  AwaitOutput(start, 0, "ready");
  Await(start.id.job, [](const ShimReport& seen) {
    return seen.generation && seen.generation->workers[1].exit.has_value();
  });
  AwaitLiving(5);
  kill(OnlyShimPid(), SIGKILL);
  const ShimReport report =
      Await(start.id.job, [](const ShimReport& seen) { return seen.shim_ended; });
  EXPECT_THAT(Living(), ::testing::IsEmpty());
  ASSERT_TRUE(report.generation.has_value());
  EXPECT_EQ(report.generation->state, State::kEnded);
  EXPECT_EQ(report.generation->failure->kind, ExitFact::Kind::kShimDied);
  EXPECT_EQ(report.generation->failure->message, "accel-shim was killed by signal 9.");
  EXPECT_EQ(report.generation->workers[0].exit->kind, ExitFact::Kind::kShimDied);
  EXPECT_EQ(report.generation->workers[1].exit->kind, ExitFact::Kind::kExited);
  EXPECT_EQ(report.generation->workers[1].exit->code, 3);
}

TEST_P(ShimStopTest, AnUnresponsiveShimIsKilledSomeTimeAfterTheGrace) {
  UseImpatientHost();
  const auto start = Script("trap '' TERM; setsid sleep 1000 & echo ready; sleep 1000");
  Start(start);
  AwaitOutput(start, 0, "ready");
  AwaitLiving(3);
  kill(OnlyShimPid(), SIGSTOP);
  ASSERT_OK(host().StopGeneration({start.id, absl::Milliseconds(100)}));
  const ShimReport report =
      Await(start.id.job, [](const ShimReport& seen) { return seen.shim_ended; });
  EXPECT_THAT(Living(), ::testing::IsEmpty());
  EXPECT_EQ(report.generation->state, State::kEnded);
  EXPECT_EQ(report.generation->failure->message, "accel-shim did not respond and was killed.");
}

TEST_P(ShimStopTest, AShimThatDoesNotExitIsKilled) {
  UseImpatientHost();
  RunToEnd(Script("exit 0"));
  kill(OnlyShimPid(), SIGSTOP);
  EndShim(common::JobId("job"));
}

TEST_P(ShimStopTest, TermToTheShimEndsTheJob) {
  const auto start = Script("trap 'exit 8' TERM; echo ready; while :; do sleep 0.01; done");
  Start(start);
  AwaitOutput(start, 0, "ready");
  kill(OnlyShimPid(), SIGTERM);
  const ShimReport report =
      Await(start.id.job, [](const ShimReport& seen) { return seen.shim_ended; });
  EXPECT_EQ(report.generation->state, State::kEnded);
  EXPECT_EQ(report.generation->workers[0].exit->code, 8);
}

}  // namespace
}  // namespace accel::shim
