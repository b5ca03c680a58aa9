#include "logs/log_paths.h"

#include <gmock/gmock.h>

#include "logs/log_test_folder.h"

namespace accel::logs {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(LogPathsTest, NamesAndBack) {
  EXPECT_EQ(GenerationLogDir(JobLogDir("/logs", "a1"), 7), "/logs/a1/gen_7");
  EXPECT_EQ(RankLogDir("/logs", 12), "/logs/rank_12");
  EXPECT_EQ(WorkerErrorFile("/logs", 0), "/logs/rank_0/error.json");
  EXPECT_EQ(SegmentName(LogStream::kStdout, 0), "stdout.00000000000000000000");
  EXPECT_EQ(SegmentName(LogStream::kStderr, INT64_MAX), "stderr.09223372036854775807");
  EXPECT_EQ(ParseRankDir("rank_12"), 12);
  const auto id = ParseSegmentName("stderr.09223372036854775807");
  ASSERT_TRUE(id.has_value());
  EXPECT_EQ(id->stream, LogStream::kStderr);
  EXPECT_EQ(id->offset, INT64_MAX);
}

TEST(LogPathsTest, OtherNamesAreNotOurs) {
  for (const char* name : {"", "rank_", "rank_-1", "rank_ 1", "rank_99999999999", "Rank_1"}) {
    EXPECT_FALSE(ParseRankDir(name).has_value()) << name;
  }
  for (const char* name :
       {"", "stdout.", "stdout.0", "stdout.0000000000000000000x", "stdout.-0000000000000000001",
        "stdout.99999999999999999999", "stdlog.00000000000000000000", "error.json"}) {
    EXPECT_FALSE(ParseSegmentName(name).has_value()) << name;
  }
}

class LogPathsFolderTest : public LogTest {};

TEST_F(LogPathsFolderTest, Lists) {
  MakeRank(10);
  MakeRank(2);
  WriteSegment(70, "x");
  WriteSegment(0, "x");
  WriteSegment(9, "x", LogStream::kStderr);
  EXPECT_THAT(ListRanks(log_dir_), ElementsAre(0, 2, 10));
  EXPECT_THAT(ListSegments(rank_dir(), LogStream::kStdout), ElementsAre(0, 70));
  EXPECT_THAT(ListSegments(rank_dir(), LogStream::kStderr), ElementsAre(9));
  EXPECT_THAT(ListSegments("/no/such", LogStream::kStderr), IsEmpty());
  EXPECT_THAT(ListRanks("/no/such"), IsEmpty());
}

}  // namespace
}  // namespace accel::logs
