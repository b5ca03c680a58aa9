#include "runtime/comm/tagged_size.h"

#include <gtest/gtest.h>

#include <bit>
#include <limits>
#include <stdexcept>

namespace accel::runtime {
namespace {

TEST(TaggedSizeTest, APeerReadsTheSizeThatWasSent) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, kMaxTaggedSize}) {
    EXPECT_EQ(untagged_size(tagged_size(size)), size);
  }
}

TEST(TaggedSizeTest, OtherNumbersAreNotSizes) {
  for (const std::int64_t number :
       {std::int64_t{0}, std::int64_t{1}, std::int64_t{-1}, std::int64_t{1} << 40,
        std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min(),
        std::bit_cast<std::int64_t>(1.0), std::bit_cast<std::int64_t>(-0.5)}) {
    EXPECT_EQ(untagged_size(number), std::nullopt) << number;
  }
  // A number whose tag is right, except for its sign.
  EXPECT_EQ(untagged_size(tagged_size(5) | std::numeric_limits<std::int64_t>::min()), std::nullopt);
}

TEST(TaggedSizeTest, ASizeThatDoesNotFitIsRefused) {
  EXPECT_THROW(tagged_size(kMaxTaggedSize + 1), std::length_error);
}

}  // namespace
}  // namespace accel::runtime
