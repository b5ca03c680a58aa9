#include "runtime/core/training_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <utility>

#include "accel/errors.h"

namespace accel::runtime {
namespace {

using ::testing::HasSubstr;

// A state with the largest and most unusual value of each field.
TrainingState odd_state() {
  return {.next_iteration = 7,
          .models = 2,
          .objects = 3,
          .optimizers = {"torch::optim::Adam", "mine::Lion"},
          .schedulers = {{.last_epoch = 1000, .step_count = 1001},
                         {},
                         {.last_epoch = 2, .step_count = 3, .libtorch_step_count = 4294967295}},
          .loaders = {{.epoch = 3,
                       .seed = std::numeric_limits<std::uint64_t>::max(),
                       .samples = 1'000'000'000'000}},
          .accumulation = {.step = 5, .window = 2, .num_steps = 3},
          .loss_scale = LossScaleState{.scale = 1.17549435e-38f, .growth_tracker = 1999}};
}

TEST(TrainingState, ReadsWhatWasWritten) {
  TrainingState state = odd_state();
  EXPECT_EQ(parse_training_state(training_state_text(state), "s"), state);
  state.loss_scale = std::nullopt;
  EXPECT_EQ(parse_training_state(training_state_text(state), "s"), state);
  EXPECT_EQ(parse_training_state(training_state_text({}), "s"), TrainingState{});
}

TEST(TrainingState, MalformedTextIsRefusedWithTheFilesName) {
  for (const char* text : {"", "[]", "{}", "null", R"({"models": "two"})",
                           R"({"next_iteration":0,"models":0,"optimizers":[],"objects":0,
                               "schedulers":[{}],"loaders":[],"accumulation":{}})"}) {
    try {
      parse_training_state(text, "folder/training_state.json");
      ADD_FAILURE() << text;
    } catch (const CheckpointError& error) {
      EXPECT_THAT(error.what(),
                  HasSubstr("folder/training_state.json: it is not a valid training state"));
    }
  }
}

// A conversion to the type of the field would cut these numbers off, or make them infinite.
TEST(TrainingState, NumbersOutOfRangeAreRefused) {
  TrainingState state;
  state.loaders.push_back({.epoch = 1, .seed = 2, .samples = 3});
  state.loss_scale = LossScaleState{.scale = 4, .growth_tracker = 5};
  const std::string good = training_state_text(state);
  EXPECT_EQ(parse_training_state(good, "s"), state);
  for (const auto& [from, to] : std::map<std::string, std::string>{
           {"\"models\": 0", "\"models\": -1"},
           {"\"models\": 0", "\"models\": 1e300"},
           {"\"window\": 0", "\"window\": 4294967296"},
           {"\"epoch\": 1", "\"epoch\": 1.5"},
           {"\"scale\": 4.0", "\"scale\": 1e300"},
           {"\"growth_tracker\": 5", "\"growth_tracker\": 3000000000"}}) {
    std::string text = good;
    const std::size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from << " in " << good;
    EXPECT_THROW(parse_training_state(text.replace(at, from.size(), to), "s"), CheckpointError)
        << to;
  }
}

TEST(TrainingState, AnotherProgramIsRefusedWithWhatDiffers) {
  const TrainingState saved = odd_state();
  EXPECT_NO_THROW(check_same_program(saved, saved, "s"));
  TrainingState bf16 = saved;
  bf16.loss_scale = std::nullopt;
  EXPECT_NO_THROW(check_same_program(saved, bf16, "s"));
  const auto error = [&](auto change) -> std::string {
    TrainingState program = saved;
    change(program);
    try {
      check_same_program(saved, program, "s");
    } catch (const CheckpointError& thrown) {
      return thrown.what();
    }
    return "nothing was thrown";
  };
  EXPECT_THAT(error([](auto& p) { p.models = 1; }),
              HasSubstr("had 2 prepared models where this one has 1"));
  EXPECT_THAT(error([](auto& p) { p.optimizers.clear(); }), HasSubstr("prepared optimizers"));
  EXPECT_THAT(error([](auto& p) { p.objects = 4; }), HasSubstr("register_for_checkpointing"));
  EXPECT_THAT(error([](auto& p) { p.schedulers.pop_back(); }), HasSubstr("prepared schedulers"));
  EXPECT_THAT(error([](auto& p) { std::swap(p.schedulers[1], p.schedulers[2]); }),
              HasSubstr("scheduler 1 was an accel::Scheduler and is one of LibTorch's here"));
  EXPECT_THAT(error([](auto& p) { p.optimizers[0] = "torch::optim::SGD"; }),
              HasSubstr("optimizer 0 was torch::optim::Adam and is torch::optim::SGD here"));
  EXPECT_EQ(error([](auto& p) { p.optimizers[1] = "ours::Lion"; }), "nothing was thrown");
  EXPECT_THAT(error([](auto& p) { p.loaders.clear(); }), HasSubstr("prepared loaders"));
  EXPECT_THAT(error([](auto& p) { p.accumulation.num_steps = 4; }),
              HasSubstr("with num_steps = 3, by which its gradients are divided, but this "
                        "program has 4"));
}

// Between windows no gradients wait that another num_steps would weight wrongly.
TEST(TrainingState, BetweenWindowsNumStepsMayChange) {
  TrainingState saved = odd_state(), program = saved;
  saved.accumulation.window = 0;
  program.accumulation.num_steps = 4;
  EXPECT_NO_THROW(check_same_program(saved, program, "s"));
}

}  // namespace
}  // namespace accel::runtime
