#include "runtime/data/dispatch_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "runtime/comm/tagged_size.h"

namespace accel::runtime {
namespace {

using Kind = DispatchedStep::Kind;
using Numbers = std::vector<std::int64_t>;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr std::int64_t kDtypes = 10;

DispatchedStep batch() {
  return {.kind = Kind::kBatch,
          .samples = {.real_samples = 5, .padded_samples = 6, .seen_samples = 11},
          .layout_numbers = 4};
}

auto refuses(const char* text) { return ThrowsMessage<BadDispatchMessage>(HasSubstr(text)); }

TEST(DispatchedStepTest, IsReadAsItWasSent) {
  const Numbers numbers = numbers_of(batch());
  ASSERT_EQ(numbers.size(), kStepNumbers);
  const DispatchedStep step = read_step(numbers, 3);
  EXPECT_EQ(step.kind, Kind::kBatch);
  EXPECT_EQ(step.samples.real_samples, 5u);
  EXPECT_EQ(step.samples.padded_samples, 6u);
  EXPECT_EQ(step.samples.seen_samples, 11u);
  EXPECT_EQ(step.layout_numbers, 4u);
  for (const Kind kind : {Kind::kEnd, Kind::kFailed}) {
    EXPECT_EQ(read_step(numbers_of(DispatchedStep{.kind = kind}), 3).kind, kind);
  }
}

TEST(DispatchedStepTest, NumbersOfAnotherCallAreRefusedByTheFieldThatIsWrong) {
  const char* const fields[] = {"no kind of a step", "no number of real samples",
                                "no number of padded samples", "no number of seen samples",
                                "no length of a layout"};
  for (std::size_t i = 0; i < kStepNumbers; ++i) {
    for (const std::int64_t other : {std::int64_t{0}, std::int64_t{1}, std::int64_t{-1},
                                     std::int64_t{1} << 40, std::int64_t{1} << 62}) {
      Numbers numbers = numbers_of(batch());
      numbers[i] = other;
      EXPECT_THAT([&] { read_step(numbers, 3); }, refuses(fields[i])) << other;
    }
  }
}

TEST(DispatchedStepTest, ContradictionsAreRefused) {
  const auto reading = [](const DispatchedStep& step) {
    return [numbers = numbers_of(step)] { read_step(numbers, 3); };
  };
  DispatchedStep step = batch();
  step.samples.real_samples = 7;
  EXPECT_THAT(reading(step), refuses("6 samples of which 7 are real"));
  step = batch();
  step.samples.padded_samples = 8;
  EXPECT_THAT(reading(step), refuses("8 samples, which do not divide by 3"));
  step = batch();
  step.layout_numbers = kMaxLayoutNumbers;
  EXPECT_NO_THROW(reading(step)());
  step.layout_numbers = kMaxLayoutNumbers + 1;
  EXPECT_THAT(reading(step), refuses("a layout of 1048577 numbers (the maximum is 1048576)"));
  Numbers numbers = numbers_of(batch());
  numbers[0] = tagged_size(3);
  EXPECT_THAT([&] { read_step(numbers, 3); }, refuses("unknown kind 3"));
}

TEST(TensorLayoutTest, IsReadAsItWasSent) {
  const std::vector<TensorLayout> layout = {{6, {3, 32, 32}}, {4, {}}, {9, {0}}};
  EXPECT_EQ(read_layout(numbers_of(layout), kDtypes), layout);
  EXPECT_TRUE(read_layout({}, kDtypes).empty());
}

TEST(TensorLayoutTest, WhatIsMalformedIsRefused) {
  const auto reading = [](const Numbers& numbers) {
    return [numbers] { read_layout(numbers, kDtypes); };
  };
  EXPECT_THAT(reading({10, 0}), refuses("unknown dtype 10"));
  EXPECT_THAT(reading({-1, 0}), refuses("unknown dtype -1"));
  EXPECT_THAT(reading({6}), refuses("ends within a tensor"));
  EXPECT_THAT(reading({6, 2, 3}), refuses("ends within a tensor"));
  EXPECT_THAT(reading({6, -1}), refuses("ends within a tensor"));
  EXPECT_THAT(reading({6, std::int64_t{1} << 62}), refuses("ends within a tensor"));
  EXPECT_THAT(reading({6, 2, 3, -4}), refuses("the size -4"));
}

TEST(TensorLayoutTest, TheElementsOfASliceAreBounded) {
  const std::int64_t side = std::int64_t{1} << 20;
  const auto checking = [](std::int64_t rows, std::vector<std::int64_t> sizes) {
    return [=] { check_slice({{6, sizes}}, rows); };
  };
  EXPECT_NO_THROW(checking(side, {side})());
  EXPECT_NO_THROW(checking(kMaxSliceElements, {})());
  EXPECT_NO_THROW(checking(0, {side, side, side})());
  EXPECT_NO_THROW(checking(side, {side, side, 0})());
  EXPECT_THAT(checking(side + 1, {side}), refuses("more than 1099511627776 elements"));
  EXPECT_THAT(checking(side, {side, side, side, side}), refuses("more than"));
  EXPECT_THAT([] { check_slice({}, 1); }, refuses("without a layout"));
}

}  // namespace
}  // namespace accel::runtime
