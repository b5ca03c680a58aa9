#include "security/enrolment/wrong_tokens.h"

#include <gtest/gtest.h>

#include <string>

namespace accel::security {
namespace {

const absl::Time kStart = absl::UnixEpoch();

TEST(WrongTokensTest, ASourceWaitsAfterFive) {
  WrongTokens wrong;
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(wrong.MayTry("a", kStart));
    wrong.Note("a", kStart + absl::Seconds(i));
  }
  EXPECT_FALSE(wrong.MayTry("a", kStart + absl::Seconds(59)));
  EXPECT_TRUE(wrong.MayTry("b", kStart + absl::Seconds(59)));
  // The first wrong token is a minute old then.
  EXPECT_TRUE(wrong.MayTry("a", kStart + absl::Seconds(60)));
}

TEST(WrongTokensTest, MemoryIsBounded) {
  WrongTokens wrong;
  for (size_t i = 0; i < 5; ++i) wrong.Note("first", kStart);
  for (size_t i = 1; i < WrongTokens::kMaxSources; ++i) wrong.Note(std::to_string(i), kStart);
  EXPECT_FALSE(wrong.MayTry("first", kStart));
  wrong.Note("one more", kStart);
  EXPECT_TRUE(wrong.MayTry("first", kStart));
}

}  // namespace
}  // namespace accel::security
