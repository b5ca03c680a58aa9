#include "cli/render/failed_job_text.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "common/parse_text.h"

namespace accel::cli {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(10'000);

std::string Render(const v1::Job& job) { return RenderFailedJob(job, kNow, absl::UTCTimeZone()); }

TEST(RenderFailedJob, IsTenLines) {
  const auto job = common::ParseText<v1::Job>(R"(
      job_id: "a0x2k9fq" phase: FAILED exit_code: 3 failures: 4 membership_changes: 2
      spec { name: "mnist" argv: "train" nodes: 2 max_restarts: 3 }
      ended_unix_ms: 9740000
      generations { generation: 1 started_unix_ms: 9700000 }
      generations { generation: 2 started_unix_ms: 9713000 }
      cause {
        generation: 2 rank: 1 node_name: "a" exit { kind: EXITED code: 3 }
        failed_unix_ms: 9735500
        last_lines: "one" last_lines: "Traceback:" last_lines: "  in f" last_lines: "\033[1mbad"
        later {
          ranks: 7 within_ms: 400
          kinds { ranks: 6 exit { kind: EXITED code: 1 } }
          kinds { ranks: 1 exit { kind: SIGNALLED signal: 6 } }
        }
      })");
  const std::string text = Render(job);
  EXPECT_EQ(text, R"(job            a0x2k9fq "mnist", FAILED with exit code 3, 4 min ago, ran 40 s
first failure  rank 1 on node a exited with code 3 (generation 2, at 02:42:15, after 22 s)
  |            Traceback:
  |              in f
  |            \x1b[1mbad
after it       7 other ranks failed within 0.4 s: 6 exited with code 1, 1 was killed by SIGABRT (6)
restarts       3 of 3 used; nodes were lost or joined 2 times
what to do     accel logs a0x2k9fq --generation 2 --rank 1   # what it wrote
               accel status a0x2k9fq --long   # its generations, nodes and command
               accel resubmit a0x2k9fq   # runs it again as a new job
)");
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 10);
}

TEST(RenderFailedJob, AnotherFailureAtTheBeginningIsShown) {
  const auto job = common::ParseText<v1::Job>(R"(
      job_id: "a0x2k9fq" phase: FAILED exit_code: 4 failures: 2 spec { nodes: 1 max_restarts: 1 }
      ended_unix_ms: 9740000
      generations {
        generation: 1 started_unix_ms: 9700000
        cause { generation: 1 rank: 1 node_name: "b" exit { kind: EXITED code: 9 } }
      }
      generations { generation: 2 started_unix_ms: 9713000 }
      cause {
        generation: 2 rank: 0 node_name: "a" exit { kind: EXITED code: 4 }
        last_lines: "one" last_lines: "two" last_lines: "three"
        later { ranks: 1 within_ms: 400 kinds { ranks: 1 exit { kind: EXITED code: 1 } } }
      })");
  const std::string text = Render(job);
  EXPECT_NE(text.find("began with     rank 1 on node b exited with code 9 (generation 1)\n"
                      "ended with     rank 0 on node a exited with code 4 (generation 2)\n"
                      "  |            two\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 10);
}

TEST(RenderFailedJob, WithoutAGenerationThereIsNoOutput) {
  const auto job = common::ParseText<v1::Job>(R"(
      job_id: "a0" phase: FAILED exit_code: 124 spec { nodes: 1 } ended_unix_ms: 9999000
      cause { rank: -1 exit { kind: TIMED_OUT message: "its time limit of 1m has passed" } })");
  EXPECT_EQ(Render(job), R"(job            a0, FAILED with exit code 124, 1 s ago
first failure  the job ran out of time: its time limit of 1m has passed
restarts       0 of 0 used
what to do     accel status a0 --long   # its generations, nodes and command
               accel resubmit a0   # runs it again as a new job
)");
}

TEST(RenderFailedJob, ThreadsOfARankThatHungAreInItsOutput) {
  const auto job = common::ParseText<v1::Job>(R"pb(
    job_id: "a0"
    phase: FAILED
    exit_code: 1
    spec { nodes: 1 }
    ended_unix_ms: 9999000
    cause {
      generation: 1
      rank: 1
      node_name: "n1"
      exit { kind: HUNG message: "has made no progress for 30s (a signal has stopped it)" }
    }
    generations { generation: 1 started_unix_ms: 9900000 })pb");
  const std::string text = Render(job);
  EXPECT_NE(text.find("first failure  rank 1 on node n1 has made no progress for 30s (a signal has "
                      "stopped it) (generation 1)\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("accel logs a0 --generation 1 --rank 1   # what it wrote, and what its "
                      "threads did\n"),
            std::string::npos)
      << text;
}

TEST(RenderFailedJob, ALostNodeIsLookedFor) {
  const auto job = common::ParseText<v1::Job>(R"pb(
    job_id: "a0"
    phase: FAILED
    exit_code: 1
    spec { nodes: 1 max_restarts: 2 }
    failures: 1
    ended_unix_ms: 9999000
    cause {
      generation: 1
      rank: -1
      node_name: "b"
      note: "exit code 1 is not retried (--no_retry_on)"
      exit { kind: NODE_LOST message: "it has been silent for 3s" }
    })pb");
  const std::string text = Render(job);
  EXPECT_NE(text.find("what to do     accel nodes   # is the node back?\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("1 of 2 used; exit code 1 is not retried (--no_retry_on)\n"),
            std::string::npos)
      << text;
}

// The end of a job that is no longer kept has no cause.
TEST(RenderFailedJob, WithoutACause) {
  const std::string text =
      Render(common::ParseText<v1::Job>("job_id: 'a0' phase: FAILED exit_code: 1 reason: 'So.'"));
  EXPECT_NE(text.find("reason         So.\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace accel::cli
