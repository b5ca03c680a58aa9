// The output of workers is complete and bounded on disk, and it never blocks a worker.
#include <dirent.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/status_matchers.h"
#include "logs/log_reader.h"
#include "shim/shim_test_base.h"

namespace accel::shim {
namespace {

using State = GenerationReport::State;

class ShimOutputTest : public ShimTest {
 protected:
  int64_t BytesOnDisk(const StartCommand& start, int rank) {
    int64_t bytes = 0;
    const std::string rank_dir = logs::RankLogDir(start.log_dir, rank);
    for (logs::LogStream stream : {logs::LogStream::kStdout, logs::LogStream::kStderr}) {
      for (int64_t offset : logs::ListSegments(rank_dir, stream)) {
        struct stat info;
        stat(absl::StrCat(rank_dir, "/", logs::SegmentName(stream, offset)).c_str(), &info);
        bytes += info.st_size;
      }
    }
    return bytes;
  }
};

TEST_F(ShimOutputTest, StreamsOfAllRanksAreKeptApart) {
  const auto start = Script("echo out $RANK; echo err $RANK >&2", 3);
  RunToEnd(start);
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(Output(start, rank), absl::StrCat("out ", rank, "\n"));
    EXPECT_EQ(Output(start, rank, logs::LogStream::kStderr), absl::StrCat("err ", rank, "\n"));
  }
}

TEST_F(ShimOutputTest, OutputIsCompleteWhenTheExitIsKnown) {
  // More than a pipe holds, so the worker ends only after most of it has been read.
  const auto start = Script("head -c 3000000 /dev/zero; exit 3");
  Start(start);
  Await(common::JobId("job"), [](const ShimReport& report) {
    return report.generation && report.generation->workers[0].exit.has_value();
  });
  EXPECT_EQ(Output(start).size(), 3'000'000u);
  AwaitState(common::JobId("job"), State::kEnded);
}

TEST_F(ShimOutputTest, FloodStaysBoundedAndKeepsItsBeginningAndItsEnd) {
  const auto start = Script("echo first; yes accel | head -c 150000000; echo last");
  RunToEnd(start);
  EXPECT_LE(BytesOnDisk(start, 0), start.log_limits.stream_bytes);
  EXPECT_GT(BytesOnDisk(start, 0),
            start.log_limits.stream_bytes - 2 * start.log_limits.segment_bytes);
  const std::string output = Output(start);
  EXPECT_TRUE(absl::StartsWith(output, "first\naccel\naccel\n"));
  EXPECT_TRUE(absl::EndsWith(output, "accel\nlast\n"));
  const int64_t written = 6 + 150'000'000 + 5;
  const std::string gap = absl::StrCat("#", written - BytesOnDisk(start, 0));
  EXPECT_EQ(output.find(gap), static_cast<size_t>(start.log_limits.segment_bytes));
}

TEST_F(ShimOutputTest, FloodOfOneWorkerLeavesTheOthersAndTheStopTheirTurn) {
  const auto start =
      Script("if [ $RANK = 0 ]; then exec yes; fi; sleep 0.1; echo here; sleep 1000", 2);
  Start(start);
  AwaitOutput(start, 1, "here");
  ASSERT_OK(host().StopGeneration({start.id, absl::Seconds(20)}));
  EXPECT_EQ(AwaitState(common::JobId("job"), State::kEnded).workers[0].exit->signal, SIGTERM);
}

TEST_F(ShimOutputTest, LongLine) {
  const auto start = Script("head -c 10000000 /dev/zero | tr '\\0' x; echo; exit 1");
  const auto report = RunToEnd(start);
  EXPECT_EQ(Output(start), std::string(10'000'000, 'x') + "\n");
  ASSERT_EQ(report.workers[0].last_lines.size(), 1u);
  EXPECT_EQ(report.workers[0].last_lines[0].size(), 4096u);
}

TEST_F(ShimOutputTest, BinaryOutputIsKeptAndQuotedSafely) {
  const auto start = Script("printf 'a\\000b\\377\\033[31m\\n'; exit 1");
  const auto report = RunToEnd(start);
  EXPECT_EQ(Output(start), std::string("a\0b\377\033[31m\n", 10));
  EXPECT_THAT(report.workers[0].last_lines, ::testing::ElementsAre("a\\x00b\xEF\xBF\xBD\\x1b[31m"));
}

TEST_F(ShimOutputTest, OutputOfAGrandchildIsCollectedUntilTheEnd) {
  // Rank 0 leaves a child that continues to write. Rank 1 ends the generation
  // once it has read that.
  const auto start = Script(
      "if [ $RANK = 1 ]; then read x < fifo; exit 0; fi; (sleep 0.05; echo late; echo > fifo) &",
      2);
  ASSERT_EQ(mkfifo(absl::StrCat(folder(), "/fifo").c_str(), 0600), 0);
  RunToEnd(start);
  EXPECT_EQ(Output(start), "late\n");
}

// A worker's last lines are reported although they cannot be written.
TEST_F(ShimOutputTest, LastLinesAreReportedAlthoughTheDiskIsFull) {
  auto start = Script("echo working; rm -r \"$LOGS\"; echo No space left on device >&2; exit 1");
  start.workers[0].env.push_back("LOGS=" + start.log_dir);
  const auto report = RunToEnd(start);
  EXPECT_THAT(report.workers[0].last_lines, ::testing::ElementsAre("No space left on device"));
}

TEST_F(ShimOutputTest, OutputThatItsFolderCannotTakeIsSpilled) {
  PosixShimHost::Options options;
  options.spill_dir = absl::StrCat(folder(), "/spill");
  MakeHost(options);
  auto start = Script("echo kept; rm -r \"$LOGS\"; echo refused; exit 3");
  start.log_limits = {5, 100};
  start.workers[0].env.push_back("LOGS=" + start.log_dir);
  EXPECT_EQ(RunToEnd(start).workers[0].exit->code, 3);
  const std::string spill_dir =
      logs::GenerationLogDir(logs::JobLogDir(options.spill_dir, "job"), 1);
  logs::LogReader reader(logs::RankLogDir(start.log_dir, 0), logs::LogStream::kStdout, 5,
                         logs::RankLogDir(spill_dir, 0));
  char bytes[16] = {};
  EXPECT_EQ(reader.Read(bytes, 5).gap, 0);
  EXPECT_EQ(reader.Read(bytes + 5, 5).size, 3u);
  EXPECT_EQ(std::string(bytes), "refused\n");
}

// A named pipe in place of a segment behaves like a disk that hangs, because open(2) blocks until
// the test opens it for reading.
class HangingDiskTest : public ShimOutputTest {
 protected:
  void MakeDiskHang(const StartCommand& start) {
    const std::string rank_dir = logs::RankLogDir(start.log_dir, 0);
    std::filesystem::create_directories(rank_dir);
    segment_ = absl::StrCat(rank_dir, "/", logs::SegmentName(logs::LogStream::kStdout, 0));
    ASSERT_EQ(mkfifo(segment_.c_str(), 0600), 0);
  }

  std::string segment_;
};

TEST_F(HangingDiskTest, AStopIsObeyedAndTheLastLinesAreKnown) {
  const auto start = Script("trap '' TERM; echo last words; touch said; sleep 1000");
  MakeDiskHang(start);
  Start(start);
  while (access(absl::StrCat(folder(), "/said").c_str(), F_OK) != 0) usleep(1000);
  ASSERT_OK(host().StopGeneration({start.id, absl::Milliseconds(50)}));
  const auto report = AwaitState(common::JobId("job"), State::kEnded);
  EXPECT_EQ(report.workers[0].exit->signal, SIGKILL);
  EXPECT_THAT(report.workers[0].last_lines, ::testing::ElementsAre("last words"));
  EndShim(common::JobId("job"));
}

TEST_F(HangingDiskTest, WorkersContinueOnceTheDiskCountsAsHanging) {
  // Far more than all buffers between a worker and its disk hold.
  const auto start = Script("head -c 20000000 /dev/zero; touch said; exec sleep 1000");
  MakeDiskHang(start);
  Start(start);
  const absl::Time until = absl::Now() + kTimeout;
  while (access(absl::StrCat(folder(), "/said").c_str(), F_OK) != 0) {
    ASSERT_LT(absl::Now(), until);
    usleep(1000);
  }
  EndShim(common::JobId("job"));
}

TEST_F(HangingDiskTest, AResultWaitsForItsOutput) {
  const auto start = Script("echo hello; exit 3");
  MakeDiskHang(start);
  Start(start);
  const absl::Time begin = absl::Now();
  AwaitState(common::JobId("job"), State::kRunning);
  while (!Living().empty()) usleep(1000);
  for (const ShimReport& report : host().TakeReports()) {
    const bool known = report.generation->workers[0].exit.has_value();
    // The exit may be known here only if the machine was so slow that the timeout
    // of 5 s has passed.
    EXPECT_TRUE(!known || absl::Now() - begin > absl::Seconds(5));
  }
  const common::UniqueFd disk(open(segment_.c_str(), O_RDONLY));
  char bytes[16] = {};
  EXPECT_EQ(read(disk.get(), bytes, sizeof(bytes)), 6);
  const auto report = AwaitState(common::JobId("job"), State::kEnded);
  EXPECT_EQ(report.workers[0].exit->code, 3);
}

TEST_F(ShimOutputTest, LogFolderThatVanishesDropsOutputAndNotTheWorker) {
  auto start = Script("rm -r \"$LOGS\"; for i in 1 2 3 4 5 6 7 8 9; do echo $i; done; exit 4");
  start.log_limits = {1, 4};  // Each byte needs a new file.
  start.workers[0].env.push_back("LOGS=" + start.log_dir);
  EXPECT_EQ(RunToEnd(start).workers[0].exit->code, 4);
}

}  // namespace
}  // namespace accel::shim
