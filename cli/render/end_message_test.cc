#include "cli/render/end_message.h"

#include <gtest/gtest.h>

#include "common/parse_text.h"

namespace accel::cli {
namespace {

TEST(EndMessage, QuotesTheLastLines) {
  const auto job = common::ParseText<v1::Job>(R"(
      job_id: "a0x2k9fq" spec { name: "mnist" } phase: FAILED exit_code: 3
      cause {
        generation: 2 rank: 1 node_name: "n1" exit { kind: EXITED code: 3 }
        later { ranks: 2 within_ms: 100 kinds { ranks: 2 exit { kind: EXITED code: 1 } } }
        last_lines: "Traceback (most recent call last):"
        last_lines: "  \033[1mValueError\033[0m: bad"
      })");
  EXPECT_EQ(EndMessage(job),
            R"(rank 1 on node n1 exited with code 3 (generation 2 of job a0x2k9fq, "mnist")
after it, 2 other ranks failed within 0.1 s: 2 exited with code 1
its last lines:
  | Traceback (most recent call last):
  |   \x1b[1mValueError\x1b[0m: bad)");
}

TEST(EndMessage, NamesAnotherFailureAtTheBeginning) {
  const auto job = common::ParseText<v1::Job>(R"(
      job_id: "a0" phase: FAILED
      generations {
        generation: 1
        cause { generation: 1 rank: 1 node_name: "b" exit { kind: EXITED code: 9 } }
      }
      generations { generation: 2 }
      cause { generation: 2 rank: 0 node_name: "a" exit { kind: EXITED code: 4 } })");
  EXPECT_EQ(EndMessage(job),
            R"(rank 0 on node a exited with code 4 (generation 2 of job a0)
it began with another failure: rank 1 on node b exited with code 9 (generation 1))");
}

TEST(EndMessage, EscapesTheErrorsOfLaterRanks) {
  const auto job = common::ParseText<v1::Job>(R"(
      job_id: "a0" phase: FAILED
      cause {
        generation: 1 rank: 0 node_name: "n1" exit { kind: EXITED code: 1 }
        later { ranks: 1 within_ms: 100
                kinds { ranks: 1 exit { kind: NOT_STARTED message: "x\naccel: \033[1mdone" } } }
      })");
  EXPECT_EQ(EndMessage(job),
            R"(rank 0 on node n1 exited with code 1 (generation 1 of job a0)
after it, 1 other rank failed within 0.1 s: 1 could not be started: x\naccel: \x1b[1mdone)");
}

TEST(EndMessage, WithoutLinesIsOneLine) {
  const auto job = common::ParseText<v1::Job>(R"(
      job_id: "a0" phase: FAILED
      cause { generation: 1 rank: 0 node_name: "n1" exit { kind: SIGNALLED signal: 15 } })");
  EXPECT_EQ(EndMessage(job),
            "rank 0 on node n1 was killed by SIGTERM (15) (generation 1 of job a0)");
}

TEST(EndMessage, DropsTheFullStopOfAMessage) {
  const auto job = common::ParseText<v1::Job>(R"(
      job_id: "a0" phase: FAILED
      cause { generation: 1 rank: -1 node_name: "n1"
              exit { kind: NOT_STARTED message: "/x does not exist." } })");
  EXPECT_EQ(EndMessage(job),
            "its part on node n1 could not be started: /x does not exist (generation 1 of job a0)");
}

TEST(EndMessage, WithoutAGenerationNamesNone) {
  const auto job = common::ParseText<v1::Job>(R"(
      job_id: "a0" phase: FAILED cause { rank: -1 exit { kind: NOT_STARTED message: "No GPU." } })");
  EXPECT_EQ(EndMessage(job), "the job could not be started: No GPU (job a0)");
}

TEST(EndMessage, SuccessIsEmptyAndOtherEndsAreNamed) {
  EXPECT_EQ(EndMessage(common::ParseText<v1::Job>("job_id: 'a0' phase: SUCCEEDED")), "");
  EXPECT_EQ(EndMessage(common::ParseText<v1::Job>("job_id: 'a0' phase: CANCELLED")),
            "job a0 was cancelled");
  EXPECT_EQ(
      EndMessage(common::ParseText<v1::Job>("job_id: 'a0' spec { name: 'n' } phase: CANCELLED")),
      "job a0, \"n\", was cancelled");
  EXPECT_EQ(EndMessage(common::ParseText<v1::Job>(
                "job_id: 'a0' phase: FAILED reason: 'No node has 9 GPUs'")),
            "job a0 failed: No node has 9 GPUs");
  EXPECT_EQ(EndMessage(common::ParseText<v1::Job>("job_id: 'a0' phase: FAILED")), "job a0 failed");
}

TEST(EndMessage, APhaseOfALaterVersionIsNamed) {
  EXPECT_EQ(EndMessage(common::ParseText<v1::Job>("job_id: 'a0' phase: 12")),
            "job a0 ended in PHASE 12, which this version of accel does not know");
}

}  // namespace
}  // namespace accel::cli
