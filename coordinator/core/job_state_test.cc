#include "coordinator/core/job_state.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

namespace accel::coordinator {
namespace {

using Step = std::pair<v1::JobPhase, v1::JobPhase>;

// The legal transitions. docs/states.md shows this table.
const std::set<Step>& LegalSteps() {
  static const auto* const steps = new std::set<Step>{
      {v1::PENDING, v1::STARTING},   {v1::PENDING, v1::FAILED},
      {v1::PENDING, v1::CANCELLED},  {v1::STARTING, v1::RUNNING},
      {v1::STARTING, v1::STOPPING},  {v1::RUNNING, v1::STOPPING},
      {v1::STOPPING, v1::SUCCEEDED}, {v1::STOPPING, v1::FAILED},
      {v1::STOPPING, v1::CANCELLED}, {v1::STOPPING, v1::RESTARTING},
      {v1::RESTARTING, v1::PENDING}, {v1::RESTARTING, v1::CANCELLED},
  };
  return *steps;
}

std::vector<v1::JobPhase> AllPhases() {
  std::vector<v1::JobPhase> phases;
  for (int i = v1::JobPhase_MIN; i <= v1::JobPhase_MAX; ++i) {
    phases.push_back(static_cast<v1::JobPhase>(i));
  }
  return phases;
}

TEST(JobState, EveryPairIsLegalOrNot) {
  for (v1::JobPhase from : AllPhases()) {
    for (v1::JobPhase to : AllPhases()) {
      EXPECT_EQ(IsLegal(from, to), LegalSteps().count({from, to}) == 1)
          << v1::JobPhase_Name(from) << " to " << v1::JobPhase_Name(to);
    }
  }
}

TEST(JobState, LegalStepsAreMade) {
  for (const auto& [from, to] : LegalSteps()) {
    v1::Job job;
    job.set_phase(from);
    job.set_next(v1::TO_FAILED);
    job.set_version(7);
    Transition(&job, to, "Because.");
    EXPECT_EQ(job.phase(), to);
    EXPECT_EQ(job.reason(), "Because.");
    EXPECT_EQ(job.version(), 8u);
    EXPECT_EQ(job.next() == v1::AFTER_STOP_UNSPECIFIED, to != v1::STOPPING);
  }
}

TEST(JobStateDeathTest, OthersAreContradictions) {
  for (v1::JobPhase from : AllPhases()) {
    for (v1::JobPhase to : AllPhases()) {
      if (LegalSteps().count({from, to}) == 1) continue;
      v1::Job job;
      job.set_phase(from);
      EXPECT_DEATH(Transition(&job, to, ""), "legal steps only");
    }
  }
}

TEST(JobState, WhichHoldNodes) {
  for (v1::JobPhase phase : AllPhases()) {
    EXPECT_EQ(HoldsNodes(phase),
              phase == v1::STARTING || phase == v1::RUNNING || phase == v1::STOPPING);
  }
}

}  // namespace
}  // namespace accel::coordinator
