#include "logs/output_writer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "absl/time/clock.h"
#include "common/clock.h"
#include "common/unique_fd.h"
#include "logs/log_test_folder.h"

namespace accel::logs {
namespace {

using Room = OutputWriter::Room;

constexpr absl::Duration kTimeout = absl::Seconds(30);
// Longer than the writing thread or the test stands still on a machine that is slow.
constexpr absl::Duration kWriteTimeout = absl::Seconds(5);

// A named pipe in place of a segment behaves like a disk that hangs, because open(2) blocks until
// the test opens it for reading.
class OutputWriterTest : public LogTest {
 protected:
  void MakeDiskHang() { ASSERT_EQ(mkfifo(SegmentPath(0).c_str(), 0600), 0); }

  // Waits as a shim's loop does, until the first `size` bytes are handled.
  static void AwaitHandled(OutputWriter* writer, int stream, int64_t size) {
    const absl::Time until = absl::Now() + kTimeout;
    while (!writer->Handled(stream, size)) {
      ASSERT_LT(absl::Now(), until);
      Await(writer);
    }
  }

  static void Await(OutputWriter* writer) {
    pollfd wake = {writer->wake_fd(), POLLIN, 0};
    poll(&wake, 1, 20);
    writer->Clear();
  }
};

TEST_F(OutputWriterTest, WhatIsHandledIsOnDisk) {
  OutputWriter writer;
  const int stream = writer.Open(rank_dir(), LogStream::kStdout, {4, 100});
  for (const char* text : {"ab", "cd", "ef"}) writer.Add(stream, text);
  EXPECT_EQ(writer.received(stream), 6);
  AwaitHandled(&writer, stream, 6);
  EXPECT_EQ(ReadSegment(0), "abcd");
  EXPECT_EQ(ReadSegment(4), "ef");
  writer.Drop(stream, 3);
  writer.Close(stream);
  AwaitHandled(&writer, stream, 9);
  while (!writer.Finished(stream)) Await(&writer);
  EXPECT_EQ(ListSegments(rank_dir(), LogStream::kStdout), (std::vector<int64_t>{0, 4, 9}));
  EXPECT_EQ(writer.unwritten(), 0u);
}

TEST_F(OutputWriterTest, WaitsForAHangingDiskOnlyUntilTheTimeout) {
  MakeDiskHang();
  OutputWriter writer({.max_bytes = 3, .write_timeout = kWriteTimeout});
  const int stream = writer.Open(rank_dir(), LogStream::kStdout, {4, 100});
  const absl::Time begin = common::SteadyClock()->Now();
  writer.Add(stream, "abc");
  EXPECT_FALSE(writer.Handled(stream, 3));
  EXPECT_EQ(writer.room(), Room::kWait);
  while (writer.room() == Room::kWait) {
    ASSERT_LT(common::SteadyClock()->Now() - begin, kTimeout);
    Await(&writer);
  }
  EXPECT_GE(common::SteadyClock()->Now() - begin, kWriteTimeout);
  EXPECT_EQ(writer.room(), Room::kDrop);
  EXPECT_TRUE(writer.Handled(stream, 3)) << "nobody waits for it any more";
  EXPECT_EQ(writer.unwritten(), 3u);
  writer.Drop(stream, 5);
  // The disk recovers: the waiting bytes are written, and the gap after them is counted.
  const common::UniqueFd disk(open(SegmentPath(0).c_str(), O_RDONLY));
  char bytes[8] = {};
  EXPECT_EQ(read(disk.get(), bytes, sizeof(bytes)), 3);
  EXPECT_EQ(std::string(bytes), "abc");
  while (writer.room() != Room::kFree) Await(&writer);
  AwaitHandled(&writer, stream, 8);  // What is added before the gap is written belongs to the gap.
  writer.Add(stream, "de");
  AwaitHandled(&writer, stream, 10);
  EXPECT_EQ(ReadSegment(8), "de");
}

// A caller that was told to wait is woken in time, even if the writing thread had not
// started the write yet.
TEST_F(OutputWriterTest, AWaitingCallerIsWokenWhenTheDiskHangs) {
  MakeDiskHang();
  for (int i = 0; i < 20; ++i) {
    OutputWriter writer({.max_bytes = 3});
    writer.Add(writer.Open(rank_dir(), LogStream::kStdout, {4, 100}), "abc");
    ASSERT_EQ(writer.room(), Room::kWait);
    if (writer.WakeAt() < absl::InfiniteFuture()) continue;
    pollfd wake = {writer.wake_fd(), POLLIN, 0};
    ASSERT_EQ(poll(&wake, 1, absl::ToInt64Milliseconds(kTimeout)), 1);
    writer.Clear();
    ASSERT_EQ(writer.room(), Room::kWait);
    ASSERT_LT(writer.WakeAt(), absl::InfiniteFuture());
  }
}

// The write may reach its time limit between the answer and the wait.
TEST_F(OutputWriterTest, ACallerToldToWaitJustBeforeTheDeadlineIsWokenOnce) {
  MakeDiskHang();
  OutputWriter writer({.max_bytes = 3, .write_timeout = kWriteTimeout});
  writer.Add(writer.Open(rank_dir(), LogStream::kStdout, {4, 100}), "abc");
  const absl::Time until = absl::Now() + kTimeout;
  while (writer.WakeAt() == absl::InfiniteFuture()) {
    ASSERT_LT(absl::Now(), until);
    ASSERT_EQ(writer.room(), Room::kWait);
  }
  absl::SleepFor(writer.WakeAt() - common::SteadyClock()->Now());
  EXPECT_LE(writer.WakeAt(), common::SteadyClock()->Now());
  EXPECT_EQ(writer.room(), Room::kDrop);
  EXPECT_EQ(writer.WakeAt(), absl::InfiniteFuture());
}

TEST_F(OutputWriterTest, TheDestructorDoesNotWaitForAHangingDisk) {
  MakeDiskHang();
  OutputWriter writer;
  writer.Add(writer.Open(rank_dir(), LogStream::kStdout, {4, 100}), "abc");
}

// A bar that stands still shows its last state, although its stream has nothing to add.
TEST_F(OutputWriterTest, ABarLeavesFewStatesAndItsLastOne) {
  OutputWriter writer;
  LogLimits limits;
  limits.collapse_bars = true;
  const int stream = writer.Open(rank_dir(), LogStream::kStdout, limits);
  int64_t size = 0;
  for (int i = 0; i < 2000; ++i) {
    const std::string state = "\r state " + std::to_string(i);
    writer.Add(stream, state);
    size += static_cast<int64_t>(state.size());
    AwaitHandled(&writer, stream, size);
  }
  const absl::Time until = absl::Now() + kTimeout;
  while (ReadSegment(0).find("state 1999") == std::string::npos) {
    ASSERT_LT(absl::Now(), until);
    absl::SleepFor(absl::Milliseconds(5));
  }
  EXPECT_LT(ReadSegment(0).size(), static_cast<size_t>(size) / 2);
  writer.Add(stream, " is the end\n");
  writer.Close(stream);
  while (!writer.Finished(stream)) Await(&writer);
  const std::string kept = ReadSegment(0);
  EXPECT_EQ(kept.substr(kept.size() - 23), " state 1999 is the end\n");
}

TEST_F(OutputWriterTest, WhatIsHeldBackIsWrittenAtTheEnd) {
  LogLimits limits;
  limits.collapse_bars = true;
  {
    OutputWriter writer;
    const int stream = writer.Open(rank_dir(), LogStream::kStdout, limits);
    writer.Add(stream, "\r1 %");
    AwaitHandled(&writer, stream, 4);
    writer.Add(stream, "\r2 %");
    AwaitHandled(&writer, stream, 8);
  }
  const absl::Time until = absl::Now() + kTimeout;
  while (ReadSegment(0).find("2 %") == std::string::npos) {
    ASSERT_LT(absl::Now(), until);
    absl::SleepFor(absl::Milliseconds(1));
  }
}

}  // namespace
}  // namespace accel::logs
