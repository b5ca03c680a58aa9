#include "runtime/core/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <stdexcept>

#include "runtime/core/mixed_precision.h"

namespace accel::runtime {
namespace {

using Variables = std::map<std::string, std::string>;
using ::testing::AllOf;
using ::testing::HasSubstr;

Environment parse(const Variables& variables) {
  return parse_environment([&](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  });
}

std::string refusal(const Variables& variables) {
  try {
    parse(variables);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}

Variables torchrun() {
  return {{"RANK", "5"},
          {"WORLD_SIZE", "7"},
          {"LOCAL_RANK", "2"},
          {"LOCAL_WORLD_SIZE", "4"},
          {"MASTER_ADDR", "n1"},
          {"MASTER_PORT", "29500"},
          {"TORCHELASTIC_USE_AGENT_STORE", "True"},
          {"TORCHELASTIC_RESTART_COUNT", "3"}};
}

Variables with(Variables variables, const std::string& name, const std::string& value) {
  variables[name] = value;
  return variables;
}

Variables without(Variables variables, const std::string& name) {
  variables.erase(name);
  return variables;
}

TEST(EnvironmentTest, WithoutVariablesThereIsOneProcess) {
  const Environment environment = parse({});
  EXPECT_EQ(environment.rank, 0);
  EXPECT_EQ(environment.world_size, 1);
  EXPECT_EQ(environment.local_world_size, 1);
  EXPECT_FALSE(environment.use_cpu);
  EXPECT_TRUE(environment.shared_memory);
  EXPECT_EQ(environment.terminal_columns, 0);
}

TEST(EnvironmentTest, ReadsTorchrunsSet) {
  const Environment environment = parse(torchrun());
  EXPECT_EQ(environment.rank, 5);
  EXPECT_EQ(environment.world_size, 7);
  EXPECT_EQ(environment.local_rank, 2);
  EXPECT_EQ(environment.local_world_size, 4);
  EXPECT_EQ(environment.master_addr, "n1");
  EXPECT_EQ(environment.master_port, 29500);
  EXPECT_TRUE(environment.launcher_serves_store);
  EXPECT_EQ(environment.restart_count, 3);
}

TEST(EnvironmentTest, RankZeroServesTheStoreUnlessTheLauncherDoes) {
  EXPECT_FALSE(parse(without(torchrun(), "TORCHELASTIC_USE_AGENT_STORE")).launcher_serves_store);
  EXPECT_FALSE(
      parse(with(torchrun(), "TORCHELASTIC_USE_AGENT_STORE", "False")).launcher_serves_store);
}

TEST(EnvironmentTest, OneProcessUnderTorchrunNeedsNoAddress) {
  const Environment environment =
      parse({{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"LOCAL_RANK", "0"}, {"LOCAL_WORLD_SIZE", "1"}});
  EXPECT_EQ(environment.world_size, 1);
}

TEST(EnvironmentTest, AMasterAddressAloneStillMeansOneProcess) {
  EXPECT_EQ(parse({{"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", "29500"}}).world_size, 1);
}

TEST(EnvironmentTest, NamesTheVariablesThatAreMissing) {
  EXPECT_THAT(refusal({{"RANK", "0"}}),
              AllOf(HasSubstr("has RANK but not WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE"),
                    HasSubstr("accel launch")));
  EXPECT_THAT(refusal(without(torchrun(), "LOCAL_RANK")), HasSubstr("but not LOCAL_RANK"));
  EXPECT_THAT(refusal(with(torchrun(), "WORLD_SIZE", "")), HasSubstr("but not WORLD_SIZE"));
  EXPECT_THAT(refusal(without(torchrun(), "MASTER_ADDR")),
              HasSubstr("MASTER_ADDR is missing for a world of 7"));
  EXPECT_THAT(refusal(without(torchrun(), "MASTER_PORT")), HasSubstr("MASTER_PORT is missing"));
}

TEST(EnvironmentTest, QuotesMalformedValues) {
  EXPECT_THAT(refusal(with(torchrun(), "RANK", "five")),
              HasSubstr("RANK=\"five\" should be a number from 0 to 6"));
  EXPECT_THAT(refusal(with(torchrun(), "RANK", "7")), HasSubstr("from 0 to 6"));
  EXPECT_THAT(refusal(with(torchrun(), "RANK", "-1")), HasSubstr("RANK=\"-1\""));
  EXPECT_THAT(refusal(with(torchrun(), "RANK", "5 ")), HasSubstr("RANK=\"5 \""));
  EXPECT_THAT(refusal(with(torchrun(), "WORLD_SIZE", "0")), HasSubstr("of at least 1"));
  EXPECT_THAT(refusal(with(torchrun(), "WORLD_SIZE", "99999999999")), HasSubstr("WORLD_SIZE"));
  EXPECT_THAT(refusal(with(torchrun(), "LOCAL_RANK", "4")), HasSubstr("from 0 to 3"));
  EXPECT_THAT(refusal(with(torchrun(), "LOCAL_WORLD_SIZE", "8")), HasSubstr("from 1 to 7"));
  EXPECT_THAT(refusal(with(torchrun(), "MASTER_PORT", "65536")), HasSubstr("from 1 to 65535"));
  EXPECT_THAT(refusal(with(torchrun(), "TORCHELASTIC_RESTART_COUNT", "x")),
              HasSubstr("RESTART_COUNT"));
  EXPECT_THAT(refusal({{"ACCEL_TERMINAL", "wide"}}), HasSubstr("ACCEL_TERMINAL=\"wide\""));
  EXPECT_THAT(refusal({{"ACCELERATE_USE_CPU", "maybe"}}), HasSubstr("should be true or false"));
}

TEST(EnvironmentTest, ReadsFlags) {
  EXPECT_TRUE(parse({{"ACCELERATE_USE_CPU", "True"}}).use_cpu);
  EXPECT_TRUE(parse({{"ACCELERATE_USE_CPU", "1"}}).use_cpu);
  EXPECT_FALSE(parse({{"ACCELERATE_USE_CPU", "False"}}).use_cpu);
  EXPECT_FALSE(parse({}).debug);
  EXPECT_TRUE(parse({{"ACCELERATE_DEBUG_MODE", "1"}}).debug);
  EXPECT_FALSE(parse({{"ACCEL_SHARED_MEMORY", "0"}}).shared_memory);
  EXPECT_TRUE(parse({{"ACCEL_SHARED_MEMORY", "1"}}).shared_memory);
  EXPECT_EQ(parse({{"ACCEL_TERMINAL", "120"}}).terminal_columns, 120);
  EXPECT_EQ(parse({{"GLOO_SOCKET_IFNAME", "eth0"}}).gloo_interfaces, "eth0");
}

TEST(EnvironmentTest, ReadsTheAccumulationSteps) {
  EXPECT_FALSE(parse({}).gradient_accumulation_steps.has_value());
  EXPECT_EQ(parse({{"ACCELERATE_GRADIENT_ACCUMULATION_STEPS", "4"}}).gradient_accumulation_steps,
            4);
  EXPECT_THROW(parse({{"ACCELERATE_GRADIENT_ACCUMULATION_STEPS", "0"}}), std::invalid_argument);
}

TEST(EnvironmentTest, ReadsTheMixedPrecision) {
  const auto read = [](const char* name) {
    return parse({{"ACCELERATE_MIXED_PRECISION", name}}).mixed_precision;
  };
  EXPECT_FALSE(parse({}).mixed_precision.has_value());
  EXPECT_FALSE(read("").has_value());
  EXPECT_EQ(read("no"), MixedPrecision::kNo);
  EXPECT_EQ(read("fp16"), MixedPrecision::kFp16);
  EXPECT_EQ(read("bf16"), MixedPrecision::kBf16);
  EXPECT_THAT(refusal({{"ACCELERATE_MIXED_PRECISION", "fp8"}}), HasSubstr("have no fp8"));
  EXPECT_THAT(refusal({{"ACCELERATE_MIXED_PRECISION", "int3"}}),
              HasSubstr("should be no, fp16 or bf16"));
}

TEST(EnvironmentTest, TheLaunchersPrecisionOverridesTheProgramsUnlessItIsNo) {
  using enum MixedPrecision;
  EXPECT_EQ(choose_precision(kBf16, std::nullopt), kBf16);
  EXPECT_EQ(choose_precision(kBf16, kNo), kBf16);
  EXPECT_EQ(choose_precision(kNo, kNo), kNo);
  EXPECT_EQ(choose_precision(kBf16, kFp16), kFp16);
  EXPECT_EQ(choose_precision(kNo, kFp16), kFp16);
}

TEST(PrecisionChoice, TakesAPrecisionOrItsName) {
  EXPECT_EQ(PrecisionChoice("bf16"), MixedPrecision::kBf16);
  EXPECT_EQ(PrecisionChoice(std::string("fp16")), MixedPrecision::kFp16);
  EXPECT_EQ(PrecisionChoice("no"), MixedPrecision::kNo);
  EXPECT_EQ(PrecisionChoice(MixedPrecision::kBf16), MixedPrecision::kBf16);
  EXPECT_THROW(PrecisionChoice("half"), std::invalid_argument);
}

}  // namespace
}  // namespace accel::runtime
