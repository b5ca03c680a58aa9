#include "tests/fuzz/mutate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace accel::fuzz {
namespace {

std::set<std::string> Variants(const std::vector<std::string>& corpus, uint64_t seed, int count) {
  std::mt19937_64 random(seed);
  std::set<std::string> variants;
  for (int i = 0; i < count; ++i) variants.insert(Mutate(corpus, random));
  return variants;
}

TEST(MutateTest, TheSameSeedGivesTheSameVariants) {
  const std::vector<std::string> corpus = {"first input", "second"};
  EXPECT_EQ(Variants(corpus, 7, 100), Variants(corpus, 7, 100));
  EXPECT_NE(Variants(corpus, 7, 100), Variants(corpus, 8, 100));
}

TEST(MutateTest, VariantsAreShorterLongerAndOfEqualSize) {
  const std::string input = "twenty bytes of text";
  std::set<int> signs;
  for (const std::string& variant : Variants({input}, 1, 100)) {
    signs.insert((variant.size() > input.size()) - (variant.size() < input.size()));
  }
  EXPECT_EQ(signs, (std::set<int>{-1, 0, 1}));
}

TEST(MutateTest, InputsAreMixed) {
  const auto variants = Variants({"aaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbb"}, 1, 200);
  EXPECT_TRUE(std::any_of(variants.begin(), variants.end(), [](const std::string& variant) {
    return variant.find("aab") != variant.npos || variant.find("bba") != variant.npos;
  }));
}

TEST(MutateTest, EmptyAndLongInputsAreBounded) {
  EXPECT_GT(Variants({""}, 1, 100).size(), 10u);
  for (const std::string& variant : Variants({std::string(kMaxInputBytes, 'x')}, 1, 100)) {
    EXPECT_LE(variant.size(), kMaxInputBytes);
  }
}

}  // namespace
}  // namespace accel::fuzz
