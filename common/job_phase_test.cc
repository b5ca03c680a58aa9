#include "common/job_phase.h"

#include <gtest/gtest.h>

#include <set>

namespace accel::common {
namespace {

TEST(IsFinal, EveryPhase) {
  const std::set<v1::JobPhase> final = {v1::SUCCEEDED, v1::FAILED, v1::CANCELLED};
  for (int number = 0; number < v1::JobPhase_ARRAYSIZE; ++number) {
    const auto phase = static_cast<v1::JobPhase>(number);
    EXPECT_EQ(IsFinal(phase), final.contains(phase)) << v1::JobPhase_Name(phase);
  }
}

}  // namespace
}  // namespace accel::common
