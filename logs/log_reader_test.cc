#include "logs/log_reader.h"

#include <unistd.h>

#include "logs/log_test_folder.h"
#include "logs/segment_writer.h"

namespace accel::logs {
namespace {

TEST(NextSegmentTest, Table) {
  const std::vector<int64_t> none, some = {0, 40, 44};
  EXPECT_EQ(NextSegment(none, -1, 0), std::nullopt);
  EXPECT_EQ(NextSegment(none, 40, 44), std::nullopt);
  // With an offset: the last segment that starts at or before it.
  EXPECT_EQ(NextSegment(some, -1, 0), 0);
  EXPECT_EQ(NextSegment(some, -1, 39), 0);
  EXPECT_EQ(NextSegment(some, -1, 40), 40);
  EXPECT_EQ(NextSegment(some, -1, 1000), 44);
  EXPECT_EQ(NextSegment({40, 44}, -1, 10), 40);
  // With a current segment: the one after it, regardless of the offset.
  EXPECT_EQ(NextSegment(some, 0, 4), 40);
  EXPECT_EQ(NextSegment(some, 4, 8), 40);
  EXPECT_EQ(NextSegment(some, 44, 45), std::nullopt);
}

class LogReaderTest : public LogTest {
 protected:
  // Reads everything that exists, with gaps as #N.
  std::string ReadAll(LogReader* reader, size_t size = 3) {
    std::string text;
    while (true) {
      std::string buffer(size, '\0');
      const LogReader::Piece piece = reader->Read(buffer.data(), size);
      if (piece.gap > 0) absl::StrAppend(&text, "#", piece.gap, " ");
      if (piece.size == 0) return text;
      EXPECT_EQ(reader->offset(), piece.offset + static_cast<int64_t>(piece.size));
      text.append(buffer, 0, piece.size);
    }
  }
  LogReader Reader(int64_t offset = 0) { return LogReader(rank_dir(), LogStream::kStdout, offset); }
};

TEST_F(LogReaderTest, NothingYet) {
  LogReader reader = Reader();
  EXPECT_EQ(ReadAll(&reader), "");
  WriteSegment(0, "now");
  EXPECT_EQ(ReadAll(&reader), "now");
}

TEST_F(LogReaderTest, AcrossSegmentsAndGaps) {
  WriteSegment(0, "abcd");
  WriteSegment(4, "efgh");
  WriteSegment(20, "uv");
  LogReader reader = Reader();
  EXPECT_EQ(ReadAll(&reader), "abcdefgh#12 uv");
  EXPECT_EQ(reader.offset(), 22);
}

// To list the folder for each of them would take minutes.
TEST_F(LogReaderTest, ManyEmptySegmentsArePassedInPieces) {
  constexpr int kEmpty = 20'000;
  for (int i = 0; i < kEmpty; ++i) WriteSegment(i, "");
  WriteSegment(kEmpty, "end");
  LogReader reader = Reader();
  char buffer[3];
  const LogReader::Piece first = reader.Read(buffer, sizeof(buffer));
  EXPECT_EQ(first.size, 0u);
  EXPECT_GT(first.gap, 0);
  EXPECT_LT(first.gap, kEmpty / 2);
  int64_t gap = first.gap;
  LogReader::Piece piece = first;
  while (piece.is_cut) {
    piece = reader.Read(buffer, sizeof(buffer));
    gap += piece.gap;
  }
  EXPECT_EQ(std::string(buffer, piece.size), "end");
  EXPECT_EQ(gap, kEmpty);
}

TEST_F(LogReaderTest, ManySegmentsThatCannotBeOpenedArePassedInPieces) {
  for (int i = 0; i < 3000; ++i) symlink("nowhere", SegmentPath(i).c_str());
  WriteSegment(3000, "end");
  LogReader reader = Reader();
  char buffer[3];
  LogReader::Piece piece = reader.Read(buffer, sizeof(buffer));
  EXPECT_TRUE(piece.is_cut);
  while (piece.is_cut) piece = reader.Read(buffer, sizeof(buffer));
  EXPECT_EQ(std::string(buffer, piece.size), "end");
}

TEST_F(LogReaderTest, FromAnOffset) {
  WriteSegment(0, "abcd");
  WriteSegment(20, "uvw");
  LogReader in_first = Reader(2), in_gap = Reader(10), in_last = Reader(21), beyond = Reader(30);
  EXPECT_EQ(ReadAll(&in_first), "cd#16 uvw");
  EXPECT_EQ(ReadAll(&in_gap), "#10 uvw");
  EXPECT_EQ(ReadAll(&in_last), "vw");
  EXPECT_EQ(ReadAll(&beyond), "");
}

TEST_F(LogReaderTest, FollowsGrowth) {
  WriteSegment(0, "ab");
  LogReader reader = Reader();
  EXPECT_EQ(ReadAll(&reader), "ab");
  WriteSegment(0, "cd");
  WriteSegment(4, "ef");
  EXPECT_EQ(ReadAll(&reader), "cdef");
}

TEST_F(LogReaderTest, SegmentsDeletedWhileReading) {
  WriteSegment(0, "abcd");
  WriteSegment(4, "efgh");
  WriteSegment(8, "ijkl");
  LogReader reader = Reader();
  std::string buffer(6, '\0');
  EXPECT_EQ(reader.Read(buffer.data(), 6).size, 4u);
  EXPECT_EQ(reader.Read(buffer.data(), 2).size, 2u);
  unlink(SegmentPath(4).c_str());  // The reader has it open and reads it to its end.
  EXPECT_EQ(ReadAll(&reader), "ghijkl");
  WriteSegment(30, "x");
  unlink(SegmentPath(8).c_str());
  EXPECT_EQ(ReadAll(&reader), "#18 x");
}

TEST_F(LogReaderTest, LossAtTheEndOfTheStream) {
  WriteSegment(0, "abcd");
  WriteSegment(10, "");
  LogReader reader = Reader();
  EXPECT_EQ(ReadAll(&reader), "abcd#6 ");
  EXPECT_EQ(reader.offset(), 10);
}

TEST_F(LogReaderTest, AccountsForEveryByteOfAWriter) {
  SegmentWriter writer(rank_dir(), LogStream::kStdout, {7, 50});
  LogReader reader = Reader();
  int64_t seen = 0;
  for (int i = 0; i < 500; ++i) {
    writer.Write(std::string(static_cast<size_t>(i % 23), 'x'));
    if (i % 10 != 0) continue;  // The reader falls behind by more than the files hold.
    char buffer[16];
    for (LogReader::Piece piece; (piece = reader.Read(buffer, 16)).size > 0;) {
      EXPECT_EQ(piece.offset, seen + piece.gap);
      seen = piece.offset + static_cast<int64_t>(piece.size);
    }
  }
  writer.Finish();
  char buffer[16];
  for (LogReader::Piece piece; (piece = reader.Read(buffer, 16)).size > 0;) {
    seen += piece.gap + static_cast<int64_t>(piece.size);
  }
  EXPECT_EQ(seen, writer.received());
}

class SpilledLogTest : public LogTest {
 protected:
  SpilledLogTest() { MakeRank(7); }
  void Spill(int64_t offset, const std::string& text) {
    std::ofstream(absl::StrCat(rank_dir(7), "/", SegmentName(LogStream::kStdout, offset))) << text;
  }
  // Reads everything that exists, with gaps as #N.
  std::string Read() {
    std::string text;
    char buffer[16];
    while (true) {
      const LogReader::Piece piece = reader_.Read(buffer, sizeof(buffer));
      if (piece.gap > 0) absl::StrAppend(&text, "#", piece.gap);
      text.append(buffer, piece.size);
      if (piece.size == 0) return text;
    }
  }

  LogReader reader_{rank_dir(), LogStream::kStdout, 0, rank_dir(7)};
};

TEST_F(SpilledLogTest, TheSegmentsOfBothFoldersAreOneStream) {
  WriteSegment(0, "ab");
  Spill(2, "cd");
  WriteSegment(4, "ef");
  Spill(8, "ij");
  EXPECT_EQ(Read(), "abcdef#2ij");
}

TEST_F(SpilledLogTest, AnEmptySegmentIsSkippedForTheSpilledOne) {
  WriteSegment(0, "ab");
  WriteSegment(2, "");
  EXPECT_EQ(Read(), "ab");  // The reader has opened the empty segment.
  unlink(SegmentPath(2).c_str());
  Spill(2, "cd");
  EXPECT_EQ(Read(), "cd");
  Spill(2, "cdef");
  EXPECT_EQ(Read(), "ef");
  WriteSegment(6, "gh");
  EXPECT_EQ(Read(), "gh");
}

}  // namespace
}  // namespace accel::logs
