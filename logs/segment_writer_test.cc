#include "logs/segment_writer.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>

#include "logs/log_test_folder.h"

namespace accel::logs {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class SegmentWriterTest : public LogTest {
 protected:
  SegmentWriter Writer(LogLimits limits) {
    return SegmentWriter(rank_dir(), LogStream::kStdout, limits);
  }
  std::vector<int64_t> Segments() { return ListSegments(rank_dir(), LogStream::kStdout); }
};

TEST_F(SegmentWriterTest, NothingWrittenMakesNoFile) {
  Writer({4, 100}).Finish();
  EXPECT_THAT(Segments(), IsEmpty());
}

TEST_F(SegmentWriterTest, SegmentsAreFullBeforeTheNextBegins) {
  auto writer = Writer({4, 100});
  writer.Write("ab");
  writer.Write("cdefghij");
  EXPECT_THAT(Segments(), ElementsAre(0, 4, 8));
  EXPECT_EQ(ReadSegment(0), "abcd");
  EXPECT_EQ(ReadSegment(4), "efgh");
  EXPECT_EQ(ReadSegment(8), "ij");
  EXPECT_EQ(writer.received(), 10);
  EXPECT_EQ(writer.dropped(), 0);
}

TEST_F(SegmentWriterTest, KeepsTheFirstAndTheNewestSegments) {
  auto writer = Writer({4, 16});
  for (char c = 'a'; c <= 'z'; ++c) writer.Write(std::string(2, c));
  EXPECT_THAT(Segments(), ElementsAre(0, 40, 44, 48));
  EXPECT_EQ(ReadSegment(0), "aabb");
  EXPECT_EQ(ReadSegment(48), "yyzz");
}

TEST_F(SegmentWriterTest, KeepsAtLeastTwoSegments) {
  auto writer = Writer({4, 1});
  writer.Write("abcdefghijklmnop");
  EXPECT_THAT(Segments(), ElementsAre(0, 12));
}

TEST_F(SegmentWriterTest, DroppedBytesAreAGap) {
  auto writer = Writer({10, 100});
  writer.Write("ab");
  writer.Drop(5);
  writer.Write("cd");
  writer.Drop(2);
  writer.Finish();
  EXPECT_THAT(Segments(), ElementsAre(0, 7, 11));
  EXPECT_EQ(ReadSegment(7), "cd");
  EXPECT_EQ(ReadSegment(11), "");
  EXPECT_EQ(writer.dropped(), 7);
}

TEST_F(SegmentWriterTest, FolderThatIsGoneDropsAndCounts) {
  SegmentWriter writer(rank_dir(7), LogStream::kStdout, {4, 100});
  writer.Write("lost");
  EXPECT_EQ(writer.received(), 4);
  EXPECT_EQ(writer.dropped(), 4);
  MakeRank(7);
  writer.Write("kept");
  EXPECT_THAT(ListSegments(rank_dir(7), LogStream::kStdout), ElementsAre(4));
  EXPECT_EQ(writer.dropped(), 4);
}

// A limit on the size of files stands for a full disk: the file takes what fits, and then nothing.
class FullDiskTest : public SegmentWriterTest {
 protected:
  FullDiskTest() {
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
  }
  ~FullDiskTest() override { Limit(before_.rlim_cur); }
  void Limit(rlim_t bytes) {
    const rlimit limit = {bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  rlimit before_;
};

TEST_F(FullDiskTest, RecoversWithAGap) {
  auto writer = Writer({100, 1000});
  Limit(3);
  writer.Write("abcdef");
  writer.Write("ghi");
  Limit(before_.rlim_cur);
  writer.Write("jkl");
  writer.Write("mno");
  EXPECT_EQ(writer.received(), 15);
  // "abc" fitted and "def" did not. "ghi" fitted into a new segment.
  EXPECT_EQ(writer.dropped(), 3);
  EXPECT_THAT(Segments(), ElementsAre(0, 6));
  EXPECT_EQ(ReadSegment(0), "abc");
  EXPECT_EQ(ReadSegment(6), "ghijklmno");
}

TEST_F(FullDiskTest, NothingFitsAndTheEndSaysHowMuch) {
  auto writer = Writer({100, 1000});
  writer.Write("abc");
  Limit(0);
  writer.Write("def");
  writer.Write("ghi");
  writer.Finish();
  EXPECT_EQ(writer.dropped(), 6);
  EXPECT_THAT(Segments(), ElementsAre(0, 9));
  EXPECT_EQ(ReadSegment(9), "");
}

// The limit on the size of files holds for both folders, so here the first folder fails because
// it does not exist.
TEST_F(SegmentWriterTest, BytesThatTheFolderCannotTakeAreSpilled) {
  MakeRank(7);
  SegmentWriter writer(rank_dir(), LogStream::kStdout, {4, 100}, rank_dir(7));
  writer.Write("ab");
  rename(rank_dir().c_str(), (rank_dir() + ".away").c_str());
  writer.Write("cdefg");  // "cd" still fits into the open segment.
  rename((rank_dir() + ".away").c_str(), rank_dir().c_str());
  writer.Write("hij");  // The spilled segment takes one more byte.
  EXPECT_THAT(Segments(), ElementsAre(0, 8));
  EXPECT_THAT(ListSegments(rank_dir(7), LogStream::kStdout), ElementsAre(4));
  EXPECT_EQ(ReadSegment(8), "ij");
  EXPECT_EQ(writer.dropped(), 0);
}

TEST_F(FullDiskTest, ManyShortSegmentsAreBoundedToo) {
  auto writer = Writer({100, 1000});
  for (int i = 0; i < 200; ++i) {
    Limit(1);
    writer.Write("xy");  // One byte fits. The other becomes a gap.
  }
  EXPECT_LE(Segments().size(), 10u);
  EXPECT_EQ(writer.dropped(), 200);
}

}  // namespace
}  // namespace accel::logs
