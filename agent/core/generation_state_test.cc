#include "agent/core/generation_state.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>

namespace accel::agent {
namespace {

using State = v1::ObservedGeneration;

TEST(GenerationState, EveryPairOfStates) {
  const std::set<std::pair<GenerationState, GenerationState>> legal = {
      {State::STARTING, State::RUNNING}, {State::STARTING, State::STOPPING},
      {State::STARTING, State::ENDED},   {State::RUNNING, State::STOPPING},
      {State::RUNNING, State::ENDED},    {State::STOPPING, State::ENDED},
  };
  for (int from = State::State_MIN; from <= State::State_MAX; ++from) {
    for (int to = State::State_MIN; to <= State::State_MAX; ++to) {
      const auto step =
          std::pair(static_cast<GenerationState>(from), static_cast<GenerationState>(to));
      EXPECT_EQ(IsLegalStep(step.first, step.second), legal.contains(step))
          << State::State_Name(step.first) << " -> " << State::State_Name(step.second);
    }
  }
}

}  // namespace
}  // namespace accel::agent
