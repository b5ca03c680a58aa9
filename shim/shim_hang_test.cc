#include <gmock/gmock.h>
#include <signal.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "shim/shim_test_base.h"

namespace accel::shim {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

using Kind = ExitFact::Kind;
using State = GenerationReport::State;

constexpr char kBeat[] = "printf \"beat $RANK\" >&3; ";

class ShimHangTest : public ShimTest {
 protected:
  // Waits until a rank has an exit, and returns the report.
  GenerationReport AwaitExit(const StartCommand& start) {
    const ShimReport report = Await(start.id.job, [](const ShimReport& seen) {
      return seen.generation &&
             std::any_of(seen.generation->workers.begin(), seen.generation->workers.end(),
                         [](const auto& worker) { return worker.exit; });
    });
    return report.generation.value_or(GenerationReport());
  }
  std::string Errors(const StartCommand& start, int rank) {
    return Output(start, rank, logs::LogStream::kStderr);
  }
  void AwaitErrors(const StartCommand& start, int rank, const std::string& text) {
    const absl::Time until = absl::Now() + kTimeout;
    while (Errors(start, rank).find(text) == std::string::npos) {
      ASSERT_LT(absl::Now(), until) << Errors(start, rank);
      absl::SleepFor(absl::Milliseconds(2));
    }
  }
};

TEST_F(ShimHangTest, AStoppedRankIsReportedWithItsThreadsAndEndsWithTheGeneration) {
  auto start = Script(
      absl::StrCat("[ \"${ACCEL_BEAT_SOCKET%:*}\" = 3 ] || exit 9; [ -z \"$ACCEL_REPORT_SOCKET\" ] "
                   "|| exit 8\nprintf half-a-line >&2; echo begun; ",
                   kBeat, "while sleep 0.05; do ", kBeat, "done"),
      2);
  start.hang_timeout = absl::Seconds(4);
  Start(start);
  AwaitOutput(start, 1, "begun");
  const GenerationReport running = AwaitState(start.id.job, State::kRunning);
  const pid_t pid = static_cast<pid_t>(running.workers[1].pid);
  ASSERT_EQ(kill(pid, SIGSTOP), 0);
  const GenerationReport found = AwaitExit(start);
  ASSERT_FALSE(found.workers.empty());
  EXPECT_EQ(found.state, State::kRunning);
  EXPECT_FALSE(found.workers[0].exit);
  ASSERT_TRUE(found.workers[1].exit);
  EXPECT_EQ(found.workers[1].exit->kind, Kind::kHung);
  EXPECT_THAT(found.workers[1].exit->message,
              AllOf(HasSubstr("has made no progress for "), HasSubstr("a signal has stopped it")));
  EXPECT_THAT(found.workers[1].last_lines, ::testing::ElementsAre("half-a-line"));
  EXPECT_NE(found.workers[1].ended_at, absl::Time());
  AwaitErrors(start, 1,
              absl::StrCat("accel: thread ", pid, " \"sh\": state T (stopped by a signal)"));
  EXPECT_THAT(Errors(start, 1), HasSubstr("half-a-line\naccel: rank 1 has made no progress"));
  AwaitErrors(start, 0, "accel: rank 1 has made no progress");
  // The stop without a grace ends the stopped process, and its end does not replace the hang.
  ASSERT_TRUE(host().StopGeneration({start.id, absl::ZeroDuration()}).ok());
  const GenerationReport ended = AwaitState(start.id.job, State::kEnded);
  EXPECT_EQ(ended.workers[0].exit->kind, Kind::kSignalled);
  EXPECT_EQ(ended.workers[1].exit->kind, Kind::kHung);
  EXPECT_EQ(ended.workers[1].ended_at, found.workers[1].ended_at);
}

TEST_F(ShimHangTest, ARankThatSpinsIsReportedAsRunning) {
  auto start = Script(absl::StrCat(kBeat, "sleep 0.1; ", kBeat, "while :; do :; done"));
  start.hang_timeout = absl::Seconds(1);
  Start(start);
  const GenerationReport found = AwaitExit(start);
  ASSERT_FALSE(found.workers.empty());
  EXPECT_EQ(found.workers[0].exit->kind, Kind::kHung);
  EXPECT_THAT(found.workers[0].exit->message, HasSubstr("it is running"));
  EndShim(start.id.job);
}

TEST_F(ShimHangTest, ARankThatHasSentNoBeatIsLeftAlone) {
  auto start = Script("exec sleep 2");
  start.hang_timeout = absl::Seconds(1);
  const GenerationReport ended = RunToEnd(start);
  EXPECT_TRUE(ended.workers[0].exit->ok());
  EXPECT_THAT(Errors(start, 0), Not(HasSubstr("accel")));
}

TEST_F(ShimHangTest, WithoutAHangTimeoutThereIsNoSocket) {
  auto start = Script("[ -z \"$ACCEL_BEAT_SOCKET\" ] && [ -n \"$ACCEL_REPORT_SOCKET\" ]");
  start.report_checkpoints = true;
  EXPECT_TRUE(RunToEnd(start).workers[0].exit->ok());
}

}  // namespace
}  // namespace accel::shim
