#include "runtime/core/sharding/pass_agreement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace accel::runtime {
namespace {

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();

// Returns what an all-reduce of maxima gives.
std::vector<std::int64_t> maxima(const std::vector<std::vector<std::int64_t>>& ranks) {
  std::vector<std::int64_t> all = ranks.at(0);
  for (const auto& rank : ranks) {
    EXPECT_EQ(rank.size(), all.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = std::max(all[i], rank.at(i));
  }
  return all;
}

bool have_equal_traces(const std::vector<std::int64_t>& digests) {
  std::vector<std::vector<std::int64_t>> ranks;
  for (const std::int64_t digest : digests) ranks.push_back(pass_numbers(digest, false, {}));
  return agreed_pass(maxima(ranks), {}).has_equal_traces;
}

TEST(PassAgreementTest, TracesAreEqualOnlyIfAllDigestsAre) {
  EXPECT_TRUE(have_equal_traces({5}));
  EXPECT_TRUE(have_equal_traces({0, 0, 0}));
  EXPECT_TRUE(have_equal_traces({kLargest, kLargest}));
  EXPECT_FALSE(have_equal_traces({5, 5, 4}));
  EXPECT_FALSE(have_equal_traces({4, 5, 5}));
  EXPECT_FALSE(have_equal_traces({0, kLargest}));
}

TEST(PassAgreementTest, AGradientOfOneRankIsOneOfAllRanks) {
  const ArrivedGradients first = {{true, false}, {}, {false}, {false}};
  const ArrivedGradients second = {{true, false}, {}, {true}, {false}};
  const std::vector<std::int64_t> all =
      maxima({pass_numbers(7, false, first), pass_numbers(7, false, second)});
  const ArrivedGradients any = {{true, false}, {}, {true}, {false}};
  EXPECT_EQ(agreed_pass(all, first).has_gradient, any);
  EXPECT_EQ(agreed_pass(all, second).has_gradient, any);
}

TEST(PassAgreementTest, OneRankThatComputesAgainIsEnough) {
  const auto recomputed = [](bool first, bool second) {
    const ArrivedGradients none = {{false}};
    return agreed_pass(maxima({pass_numbers(7, first, none), pass_numbers(7, second, none)}), none)
        .has_recomputed;
  };
  EXPECT_FALSE(recomputed(false, false));
  EXPECT_TRUE(recomputed(true, false));
  EXPECT_TRUE(recomputed(false, true));
}

}  // namespace
}  // namespace accel::runtime
