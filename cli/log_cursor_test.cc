#include "cli/log_cursor.h"

#include <gtest/gtest.h>

#include "common/parse_text.h"

namespace accel::cli {
namespace {

v1::LogChunk Chunk(const std::string& text) { return common::ParseText<v1::LogChunk>(text); }

TEST(LogCursorTest, TheFirstRequestIsRepeatedUntilSomethingHasArrived) {
  const auto request = common::ParseText<v1::ReadLogsRequest>("job_id: 'a' selection { tail: 5 }");
  const LogCursor cursor(request, 4);
  EXPECT_EQ(cursor.Rest().ShortDebugString(), request.ShortDebugString());
  EXPECT_FALSE(cursor.at_end());
}

TEST(LogCursorTest, AsksForTheRestOfEachStreamOfTheRanksThatHaveNotEnded) {
  LogCursor cursor(common::ParseText<v1::ReadLogsRequest>("job_id: 'a'"), 6);
  cursor.Note(Chunk("rank: 0 stream: STDOUT data: '12345'"));
  cursor.Note(Chunk("rank: 0 stream: STDERR offset: 10 data: '1' next_offset: 500"));
  cursor.Note(Chunk("rank: 0 stream: STDOUT offset: 5 data: '678'"));
  cursor.Note(Chunk("rank: 3 stream: STDOUT data: '1'"));
  cursor.Note(Chunk("rank: 3 end: true"));
  cursor.Note(Chunk("rank: 4 notice: 'its node is away'"));
  EXPECT_EQ(cursor.Rest().ShortDebugString(),
            common::ParseText<v1::ReadLogsRequest>(
                "job_id: 'a' ranks { first: 0 last: 2 } ranks { first: 4 last: 5 } "
                "positions { rank: 0 stream: STDOUT offset: 8 } "
                "positions { rank: 0 stream: STDERR offset: 500 }")
                .ShortDebugString());
}

TEST(LogCursorTest, KnowsWhenEveryWantedRankHasEnded) {
  LogCursor cursor(common::ParseText<v1::ReadLogsRequest>(
                       "ranks { first: 1 last: 1 } ranks { first: 3 last: 2000000000 }"),
                   5);
  for (int rank : {1, 3, 4}) {
    EXPECT_FALSE(cursor.at_end());
    v1::LogChunk end = Chunk("end: true");
    end.set_rank(rank);
    cursor.Note(end);
  }
  EXPECT_TRUE(cursor.at_end());
}

}  // namespace
}  // namespace accel::cli
