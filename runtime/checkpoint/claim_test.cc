#include "runtime/checkpoint/claim.h"

#include "runtime/checkpoint/checkpoint_test_folder.h"

namespace accel::runtime {
namespace {

class ClaimTest : public CheckpointFolderTest {};

TEST_F(ClaimTest, AnEarlierGenerationCannotCommit) {
  const Claim first{"job", 1}, second{"job", 2}, other{"rerun", 1};
  claim_checkpoints(parent_, first);
  save(1, "one", {.claim = first});
  claim_checkpoints(parent_, second);
  EXPECT_THROW(save(2, "late", {.claim = first}), CheckpointError);
  EXPECT_THROW(claim_checkpoints(parent_, first), CheckpointError);
  EXPECT_EQ(newest()->manifest.iteration, 1u);
  save(2, "two", {.claim = second});
  // Generations of another job start from 1.
  claim_checkpoints(parent_, other);
  EXPECT_THROW(save(3, "late", {.claim = second}), CheckpointError);
  save(3, "three", {.claim = other});
}

}  // namespace
}  // namespace accel::runtime
