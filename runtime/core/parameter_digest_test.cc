#include "runtime/core/parameter_digest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <set>
#include <utility>

namespace accel::runtime {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

template <typename T>
std::uint64_t digest(const std::vector<T>& values) {
  return digest_of(std::as_bytes(std::span(values)));
}

TEST(ParameterDigestTest, EachBitCounts) {
  const std::vector<std::uint8_t> values(37, 0x5a);
  std::set<std::uint64_t> digests{digest(values)};
  for (std::size_t byte = 0; byte < values.size(); ++byte) {
    for (int bit = 0; bit < 8; ++bit) {
      std::vector<std::uint8_t> other = values;
      other[byte] ^= static_cast<std::uint8_t>(1 << bit);
      digests.insert(digest(other));
    }
  }
  EXPECT_EQ(digests.size(), 1 + 37 * 8u);
}

TEST(ParameterDigestTest, TheOrderCounts) {
  std::vector<float> values(1000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 10);
  const std::uint64_t before = digest(values);
  for (const std::size_t i : {0u, 1u, 2u, 500u, 998u}) {
    std::swap(values[i], values[i + 1]);
    EXPECT_NE(digest(values), before) << i;
    std::swap(values[i], values[i + 1]);
  }
  EXPECT_EQ(digest(values), before);
}

// One rank makes a step that the others do not make, which changes all elements alike.
TEST(ParameterDigestTest, TheSameChangeOfEveryElementCounts) {
  for (const std::size_t elements : {1u, 2u, 1u << 10, 1u << 16, 1u << 20}) {
    std::set<std::uint64_t> digests;
    for (const float value : {0.0f, -0.0f, 1.0f, -1.0f, 2.0f, 0.5f, 1.0000001f}) {
      digests.insert(digest(std::vector<float>(elements, value)));
    }
    EXPECT_EQ(digests.size(), 7u) << elements;
  }
}

TEST(ParameterDigestTest, BitsAreComparedSoNanEqualsItself) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(digest(std::vector<float>{1, nan}), digest(std::vector<float>{1, nan}));
  EXPECT_NE(digest(std::vector<float>{0.0f}), digest(std::vector<float>{-0.0f}));
}

TEST(ParameterDigestTest, AListsLengthOrderAndTextsCount) {
  const ParameterDigest none{"a", digest_of({})};
  EXPECT_NE(combined(digests_of({})), combined(digests_of({none})));
  EXPECT_NE(combined(digests_of({none})), combined(digests_of({none, none})));
  EXPECT_NE(combined(digests_of({{"a", 1}, {"b", 2}})), combined(digests_of({{"b", 2}, {"a", 1}})));
  EXPECT_NE(combined(digests_of({{"a", 1}})), combined(digests_of({{"b", 1}})));
  EXPECT_EQ(combined(digests_of({{"a", 1}})), combined(digests_of({{"a", 1}})));
}

TEST(ParameterDigestTest, FindsTheFirstDifference) {
  EXPECT_EQ(first_difference({1, 2, 3}, {1, 2, 3}), std::nullopt);
  EXPECT_EQ(first_difference({}, {}), std::nullopt);
  EXPECT_EQ(first_difference({1, 2, 3}, {1, 9, 9}), 1u);
  EXPECT_EQ(first_difference({1, 2}, {1, 2, 3}), 2u);
  EXPECT_EQ(first_difference({1, 2, 3}, {1, 2}), 2u);
}

TEST(ParameterDigestTest, TheErrorNamesTheParameterAndTheRanks) {
  const std::string usual = description_of({"fc.weight of Net: Float [2, 3]", 0x1f});
  const std::string other = description_of({"fc.weight of Net: Float [2, 3]", 0x20});
  EXPECT_EQ(usual, "fc.weight of Net: Float [2, 3], with digest 000000000000001f");
  EXPECT_THAT(differing_parameter({other, usual, usual, usual}),
              AllOf(HasSubstr("\n  - ranks 1, 2, 3: " + usual + "\n  - rank 0: " + other + "\n"),
                    HasSubstr("accelerator.backward(loss)")));
}

TEST(ParameterDigestTest, TheErrorOfALargeWorldStaysReadable) {
  std::vector<std::string> all(1000, "a");
  for (std::size_t rank = 100; rank < 120; ++rank) all[rank] = "b" + std::to_string(rank);
  const std::string text = differing_parameter(all);
  EXPECT_THAT(text, AllOf(HasSubstr("ranks 0, 1, 2"), HasSubstr(" 15 and 964 more: a\n"),
                          HasSubstr("rank 100: b100"), HasSubstr("and 13 other values"),
                          Not(HasSubstr("b119"))));
}

}  // namespace
}  // namespace accel::runtime
