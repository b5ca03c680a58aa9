#include "logs/log_follower.h"

#include <gmock/gmock.h>
#include <poll.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/status_matchers.h"
#include "logs/log_test_folder.h"
#include "logs/segment_writer.h"

namespace accel::logs {
namespace {

// The parameter is the time for which a timer wakes the reader: all of it, or none.
class LogFollowerTest : public LogTest, public ::testing::WithParamInterface<absl::Duration> {
 protected:
  absl::StatusOr<std::unique_ptr<LogFollower>> Open() {
    return LogFollower::Open(log_dir_, "", GetParam());
  }

  // Returns what the descriptor is, such as "anon_inode:inotify".
  static std::string KindOf(int fd) {
    return std::filesystem::read_symlink(absl::StrCat("/proc/self/fd/", fd)).string();
  }

  static bool Readable(const LogFollower& follower, int milliseconds) {
    pollfd wake = {follower.fd(), POLLIN, 0};
    return poll(&wake, 1, milliseconds) == 1;
  }

  // Waits for news and takes all of it. Returns the bytes of one rank's stream, with gaps as #N.
  static std::string TakeAll(LogFollower* follower, int rank, LogStream stream) {
    std::string text;
    std::vector<LogPiece> pieces;
    while (!(pieces = follower->Take(1000)).empty()) {
      for (const LogPiece& piece : pieces) {
        if (piece.rank != rank || piece.stream != stream) continue;
        if (piece.gap > 0) absl::StrAppend(&text, "#", piece.gap, " ");
        text += piece.bytes;
      }
    }
    return text;
  }
};

TEST_P(LogFollowerTest, NoSuchFolder) {
  EXPECT_TRUE(absl::IsNotFound(LogFollower::Open("/no/such/folder").status()));
}

TEST_P(LogFollowerTest, ExistingOutputAndThenNewOutput) {
  WriteSegment(0, "old\n");
  auto follower = Open();
  ASSERT_OK(follower);
  EXPECT_EQ(TakeAll(follower->get(), 0, LogStream::kStdout), "old\n");
  if (GetParam() == absl::ZeroDuration()) {
    EXPECT_FALSE(Readable(**follower, 0));
  }
  WriteSegment(0, "new\n");
  ASSERT_TRUE(Readable(**follower, 10'000));
  EXPECT_EQ(TakeAll(follower->get(), 0, LogStream::kStdout), "new\n");
  WriteSegment(0, "first error\n", LogStream::kStderr);
  ASSERT_TRUE(Readable(**follower, 10'000));
  EXPECT_EQ(TakeAll(follower->get(), 0, LogStream::kStderr), "first error\n");
}

// A launch takes the last output when its job has ended, and waits for no notice.
TEST_P(LogFollowerTest, NewOutputIsTakenWithoutANotice) {
  MakeRank(0);
  auto follower = Open();
  ASSERT_OK(follower);
  EXPECT_EQ(TakeAll(follower->get(), 0, LogStream::kStdout), "");
  for (int i = 0; i < 10; ++i) {
    WriteSegment(0, "line\n");
    EXPECT_EQ(TakeAll(follower->get(), 0, LogStream::kStdout), "line\n");
  }
}

TEST_P(LogFollowerTest, InotifyReplacesTheTimer) {
  auto follower = Open();
  ASSERT_OK(follower);
  EXPECT_EQ(KindOf((*follower)->fd()), "anon_inode:[timerfd]");
  EXPECT_TRUE((*follower)->Take(1000).empty());
  EXPECT_EQ(KindOf((*follower)->fd()),
            GetParam() == absl::ZeroDuration() ? "anon_inode:inotify" : "anon_inode:[timerfd]");
}

TEST_P(LogFollowerTest, RanksThatComeLater) {
  auto follower = Open();
  ASSERT_OK(follower);
  EXPECT_TRUE((*follower)->Take(1000).empty());
  MakeRank(5);
  ASSERT_TRUE(Readable(**follower, 10'000));
  EXPECT_TRUE((*follower)->Take(1000).empty());
  SegmentWriter(rank_dir(5), LogStream::kStdout, {}).Write("five");
  ASSERT_TRUE(Readable(**follower, 10'000));
  EXPECT_EQ(TakeAll(follower->get(), 5, LogStream::kStdout), "five");
}

TEST_P(LogFollowerTest, StreamsTakeTurns) {
  MakeRank(1);
  SegmentWriter flood(rank_dir(0), LogStream::kStdout, {});
  flood.Write(std::string(1 << 20, 'x'));
  SegmentWriter(rank_dir(1), LogStream::kStdout, {}).Write("small");
  auto follower = Open();
  ASSERT_OK(follower);
  const std::vector<LogPiece> pieces = (*follower)->Take(128 << 10);
  ASSERT_GE(pieces.size(), 2u);
  EXPECT_EQ(pieces[0].rank, 0);
  EXPECT_EQ(pieces[0].bytes.size(), 64u << 10);
  EXPECT_EQ(pieces[1].rank, 1);
  EXPECT_EQ(pieces[1].bytes, "small");
  EXPECT_EQ(TakeAll(follower->get(), 0, LogStream::kStdout).size() + (64 << 10) +
                (pieces.size() > 2 ? pieces[2].bytes.size() : 0),
            1u << 20);
}

TEST_P(LogFollowerTest, GapsAreReported) {
  SegmentWriter writer(rank_dir(), LogStream::kStdout, {4, 12});
  writer.Write("abcdefghijklmnop");
  auto follower = Open();
  ASSERT_OK(follower);
  EXPECT_EQ(TakeAll(follower->get(), 0, LogStream::kStdout), "abcd#4 ijklmnop");
}

INSTANTIATE_TEST_SUITE_P(Timed, LogFollowerTest,
                         ::testing::Values(absl::ZeroDuration(), absl::InfiniteDuration()));

}  // namespace
}  // namespace accel::logs
