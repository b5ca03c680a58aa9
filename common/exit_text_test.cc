#include "common/exit_text.h"

#include <gtest/gtest.h>

#include <utility>

#include "common/parse_text.h"

namespace accel::common {
namespace {

TEST(DescribeExit, EveryKind) {
  const std::pair<const char*, const char*> kCases[] = {
      {"kind: EXITED code: 3", "exited with code 3"},
      {"kind: SIGNALLED signal: 9", "was killed by SIGKILL (9)"},
      {"kind: SIGNALLED signal: 11 core_dumped: true", "was killed by SIGSEGV (11) (core dumped)"},
      {"kind: SIGNALLED signal: 9 out_of_memory: true",
       "ran out of memory and was killed by SIGKILL (9)"},
      {"kind: EXITED code: 1 message: 'its job reached the limit of 300 processes'",
       "exited with code 1: its job reached the limit of 300 processes"},
      {"kind: SIGNALLED signal: 9 out_of_memory: true message: 'the peak was 49.8 MiB'",
       "ran out of memory and was killed by SIGKILL (9): the peak was 49.8 MiB"},
      {"kind: SIGNALLED signal: 40", "was killed by signal 40"},
      {"kind: NOT_STARTED code: 127 message: '/opt/train does not exist'",
       "could not be started: /opt/train does not exist"},
      {"kind: NOT_STARTED", "could not be started"},
      {"kind: SHIM_DIED", "was ended because its shim died"},
      {"kind: SHIM_DIED message: 'SIGKILL'", "was ended because its shim died: SIGKILL"},
      {"kind: NODE_LOST message: 'no word for 30 s'", "was lost: no word for 30 s"},
      {"kind: TIMED_OUT message: 'the time limit is 15 min'",
       "ran out of time: the time limit is 15 min"},
      {"kind: HUNG", "has made no progress"},
      {"kind: HUNG message: 'has made no progress for 30s (x)'",
       "has made no progress for 30s (x)"},
      {"", "ended in a way that this version of accel does not know"},
  };
  for (const auto& [record, text] : kCases) {
    EXPECT_EQ(DescribeExit(ParseText<v1::ExitRecord>(record)), text);
  }
}

TEST(DescribeFailure, NamesRankOrNodeOrJob) {
  const std::pair<const char*, const char*> kCases[] = {
      {"rank: 1 node_name: 'a' exit { kind: EXITED code: 3 }",
       "rank 1 on node a exited with code 3"},
      {"rank: 0 exit { kind: EXITED code: 3 }", "rank 0 exited with code 3"},
      {"rank: 2 node_name: 'a' exit { kind: NODE_LOST }", "rank 2 on node a was lost"},
      {"rank: -1 node_name: 'a' exit { kind: NODE_LOST }", "node a was lost"},
      {"rank: -1 node_name: 'a' exit { kind: PREEMPTED message: 'its host is shutting down' }",
       "node a was preempted: its host is shutting down"},
      {"rank: -1 node_name: 'a' exit { kind: SHIM_DIED }",
       "its part on node a was ended because its shim died"},
      {"rank: -1 exit { kind: TIMED_OUT }", "the job ran out of time"},
  };
  for (const auto& [cause, text] : kCases) {
    EXPECT_EQ(DescribeFailure(ParseText<v1::FailureCause>(cause)), text);
  }
}

TEST(DescribeLater, CountsByKind) {
  const std::pair<const char*, const char*> kCases[] = {
      {"ranks: 1", "1 other rank failed"},
      {"ranks: 1 within_ms: 3 kinds { ranks: 1 exit { kind: EXITED code: 1 } }",
       "1 other rank failed within 0.1 s: 1 exited with code 1"},
      {"ranks: 9 within_ms: 1260 kinds { ranks: 6 exit { kind: EXITED code: 1 } } "
       "kinds { ranks: 1 exit { kind: SIGNALLED signal: 6 } }",
       "9 other ranks failed within 1.3 s: 6 exited with code 1, 1 was killed by SIGABRT (6), "
       "2 otherwise"},
  };
  for (const auto& [later, text] : kCases) {
    EXPECT_EQ(DescribeLater(ParseText<v1::LaterFailures>(later)), text);
  }
}

}  // namespace
}  // namespace accel::common
