#include "runtime/core/checkpoint_claim.h"

#include <gtest/gtest.h>

namespace accel::runtime {
namespace {

TEST(CheckpointClaim, IsReadAsItWasWritten) {
  for (const Claim& claim : {Claim{"job", 1}, Claim{"a job with spaces", 18446744073709551615u}}) {
    EXPECT_EQ(parse_claim(claim_text(claim)), claim);
  }
  EXPECT_EQ(claim_text({"job", 7}), "job 7\n");
}

TEST(CheckpointClaim, TextWithoutAGenerationIsGenerationZero) {
  EXPECT_EQ(parse_claim("torn"), (Claim{"torn", 0}));
  EXPECT_EQ(parse_claim("job x"), (Claim{"job", 0}));
  EXPECT_EQ(parse_claim(""), (Claim{"", 0}));
}

TEST(CheckpointClaim, OnlyAnEarlierGenerationOfTheSameJobMayNotClaim) {
  EXPECT_TRUE(may_claim(std::nullopt, {"job", 1}));
  EXPECT_TRUE(may_claim(Claim{"job", 1}, {"job", 1}));
  EXPECT_TRUE(may_claim(Claim{"job", 1}, {"job", 2}));
  EXPECT_FALSE(may_claim(Claim{"job", 2}, {"job", 1}));
  EXPECT_TRUE(may_claim(Claim{"job", 2}, {"rerun", 1}));
}

TEST(CheckpointClaim, OnlyTheHolderCommits) {
  EXPECT_TRUE(may_commit(std::nullopt, {"job", 1}));
  EXPECT_TRUE(may_commit(Claim{"job", 1}, {"job", 1}));
  EXPECT_FALSE(may_commit(Claim{"job", 2}, {"job", 1}));
  EXPECT_FALSE(may_commit(Claim{"job", 1}, {"job", 2}));
  EXPECT_FALSE(may_commit(Claim{"rerun", 1}, {"job", 1}));
}

}  // namespace
}  // namespace accel::runtime
