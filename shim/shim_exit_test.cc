// Exit facts are exact for every exit code and every signal that ends a process.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>

#include <set>

#include "absl/strings/str_cat.h"
#include "common/status_matchers.h"
#include "shim/shim_test_base.h"

namespace accel::shim {
namespace {

using State = GenerationReport::State;

// More concurrent workers than this would only wait for each other.
constexpr int kAtATime = 64;

class ShimExitTest : public ShimTest {};

TEST_F(ShimExitTest, ExitCodes) {
  for (int base = 0; base < 256; base += kAtATime) {
    const auto report = RunToEnd(Script(absl::StrCat("exit $((RANK + ", base, "))"), kAtATime));
    ASSERT_EQ(report.workers.size(), kAtATime);
    EXPECT_FALSE(report.failure.has_value());
    for (const WorkerReport& worker : report.workers) {
      ASSERT_TRUE(worker.exit.has_value());
      EXPECT_EQ(worker.exit->kind, ExitFact::Kind::kExited);
      EXPECT_EQ(worker.exit->code, base + worker.rank);
      EXPECT_EQ(worker.exit->ok(), base + worker.rank == 0);
      EXPECT_GT(worker.pid, 0);
      EXPECT_GT(worker.start_time_ticks, 0u);
    }
  }
}

// Starts one worker per signal. The workers whose signal does not end a process exit with code 7.
TEST_F(ShimExitTest, Signals) {
  const std::set<int> harmless = {SIGCHLD, SIGCONT, SIGURG, SIGWINCH};
  const std::set<int> stops = {SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU};
  const std::set<int> reserved = {32, 33};  // Reserved by glibc.
  const auto report =
      RunToEnd(Script("ulimit -c 0; case $RANK in 0) exit 0;; 19|20|21|22) exit 7;;"
                      " esac; kill -$RANK $$; exit 7",
                      SIGRTMAX + 1));
  for (const WorkerReport& worker : report.workers) {
    const int signal = worker.rank;
    if (signal == 0 || reserved.count(signal) > 0) continue;
    ASSERT_TRUE(worker.exit.has_value()) << signal;
    const bool ends = harmless.count(signal) == 0 && stops.count(signal) == 0;
    EXPECT_EQ(worker.exit->kind, ends ? ExitFact::Kind::kSignalled : ExitFact::Kind::kExited)
        << signal;
    EXPECT_EQ(worker.exit->signal, ends ? signal : 0);
    EXPECT_EQ(worker.exit->code, ends ? 0 : 7) << signal;
    EXPECT_FALSE(worker.exit->core_dumped) << signal;
    EXPECT_FALSE(worker.exit->out_of_memory) << signal;
  }
}

TEST_F(ShimExitTest, FailureQuotesTheLastLines) {
  const auto report = RunToEnd(Script(
      "echo out; if [ $RANK = 1 ]; then echo one >&2; printf 'two\\rthree' >&2; exit 3; fi", 2));
  EXPECT_TRUE(report.workers[0].last_lines.empty());
  EXPECT_THAT(report.workers[1].last_lines, ::testing::ElementsAre("one", "two", "three"));
}

TEST_F(ShimExitTest, AnotherWorkerIsLeftAloneWhenOneFails) {
  const auto start = Script("if [ $RANK = 0 ]; then exit 3; fi; read line < fifo; exit 0", 2);
  ASSERT_EQ(mkfifo(absl::StrCat(folder(), "/fifo").c_str(), 0600), 0);
  Start(start);
  const ShimReport report = Await(common::JobId("job"), [](const ShimReport& seen) {
    return seen.generation && seen.generation->workers[0].exit.has_value();
  });
  EXPECT_EQ(report.generation->state, State::kRunning);
  EXPECT_FALSE(report.generation->workers[1].exit.has_value());
  ASSERT_OK(host().StopGeneration({start.id, absl::Seconds(20)}));
  const auto ended = AwaitState(common::JobId("job"), State::kEnded);
  EXPECT_EQ(ended.workers[1].exit->signal, SIGTERM);
}

TEST_F(ShimExitTest, GenerationsFollowEachOtherInOneShim) {
  for (int i = 1; i <= 3; ++i) {
    const auto report = RunToEnd(Script("exit 5", 2));
    EXPECT_EQ(report.id.generation, i);
    EXPECT_EQ(report.workers[1].exit->code, 5);
  }
  EndShim(common::JobId("job"));
}

TEST_F(ShimExitTest, TwoJobsDoNotMeet) {
  auto one = Script("echo one; sleep 1000");
  auto two = Script("echo two; exit 4");
  two.id.job = common::JobId("other");
  Start(one);
  Start(two);
  const ShimReport ended = Await(two.id.job, [](const ShimReport& report) {
    return report.generation && report.generation->state == State::kEnded;
  });
  EXPECT_EQ(ended.generation->workers[0].exit->code, 4);
  EndShim(two.id.job);
  AwaitOutput(one, 0, "one\n");
  EXPECT_EQ(Output(two), "two\n");
  AwaitLiving(1);  // The other job lives on.
  EndShim(one.id.job);
}

}  // namespace
}  // namespace accel::shim
