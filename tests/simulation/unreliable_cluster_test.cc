// Random schedules over the real loops. Jobs are submitted, cancelled and watched. Workers fail,
// hang and ignore SIGTERM. Agents and the coordinator are killed and paused, and hosts lose their
// power. The disk is slow, full, or fails. Messages are delayed, doubled and lost, streams break,
// and the network is cut in one direction or both. The processes that really run must satisfy the
// invariants at each moment. Once the faults stop, every job must end without help.
//
// A failure prints a small schedule, which `tools/simulate --replay FILE` plays again.

#include <gtest/gtest.h>

#include "common/log.h"
#include "tests/simulation/play.h"

namespace accel::simulation {
namespace {

// Each shard of the test plays its part of the seeds (tests/simulation/BUILD.bazel).
class EachSeed : public ::testing::TestWithParam<uint32_t> {};

TEST_P(EachSeed, KeepsTheInvariantsAndEndsEveryJob) {
  common::InitLog("simulation", common::LogLevel::kError);
  for (uint32_t seed = GetParam(); seed < GetParam() + 100; ++seed) {
    const absl::Status status = PlaySeed(seed, NoBug).status;
    ASSERT_TRUE(status.ok()) << status;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, EachSeed, ::testing::Range(1u, 2001u, 100u));

}  // namespace
}  // namespace accel::simulation
