#include "cli/render/phase_text.h"

#include <gtest/gtest.h>

namespace accel::cli {
namespace {

TEST(PhaseText, APhaseOfALaterVersionIsItsNumber) {
  EXPECT_EQ(PhaseText(v1::RUNNING), "RUNNING");
  EXPECT_EQ(PhaseText(static_cast<v1::JobPhase>(12)), "PHASE 12");
}

TEST(HasEnded, APhaseOfALaterVersionIsFinalIfTheJobHasEnded) {
  v1::Job job;
  job.set_phase(v1::RUNNING);
  EXPECT_FALSE(HasEnded(job));
  job.set_phase(v1::CANCELLED);
  EXPECT_TRUE(HasEnded(job));
  job.set_phase(static_cast<v1::JobPhase>(12));
  EXPECT_FALSE(HasEnded(job));
  job.set_ended_unix_ms(1);
  EXPECT_TRUE(HasEnded(job));
}

}  // namespace
}  // namespace accel::cli
