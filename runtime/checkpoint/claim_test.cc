#include "runtime/checkpoint/claim.h"

#include "runtime/checkpoint/checkpoint_test_folder.h"

namespace accel::runtime {
namespace {

class ClaimTest : public CheckpointFolderTest {
 protected:
  // Returns the claim of a job and generation on all checkpoints of this test.
  HeldClaim on_all(const std::string& job, std::uint64_t generation) const {
    return {claimed_parent(parent_), {job, generation}};
  }

  // Returns that on one of them, as the program's own name for it has.
  HeldClaim on_one(std::uint64_t iteration, const std::string& job,
                   std::uint64_t generation) const {
    return {claimed_folder(parent_ / checkpoint_name(iteration)), {job, generation}};
  }
};

TEST_F(ClaimTest, AnEarlierGenerationCannotCommit) {
  const HeldClaim first = on_all("job", 1), second = on_all("job", 2), other = on_all("rerun", 1);
  claim_checkpoints(first);
  save(1, "one", {.claim = first});
  claim_checkpoints(second);
  EXPECT_THROW(save(2, "late", {.claim = first}), CheckpointError);
  EXPECT_THROW(claim_checkpoints(first), CheckpointError);
  EXPECT_EQ(newest()->manifest.iteration, 1u);
  save(2, "two", {.claim = second});
  // Generations of another job start from 1.
  claim_checkpoints(other);
  EXPECT_THROW(save(3, "late", {.claim = second}), CheckpointError);
  save(3, "three", {.claim = other});
}

TEST_F(ClaimTest, EachFolderThatAProgramNamesHasAClaimOfItsOwn) {
  claim_checkpoints(on_one(1, "job", 1));
  claim_checkpoints(on_one(2, "other", 1));
  save(1, "one", {.claim = on_one(1, "job", 1)});
  save(2, "two", {.claim = on_one(2, "other", 1)});
  claim_checkpoints(on_one(1, "job", 2));
  EXPECT_THROW(save(1, "late", {.claim = on_one(1, "job", 1)}), CheckpointError);
  EXPECT_EQ(content_of(1), "one");
  save(2, "again", {.claim = on_one(2, "other", 1)});
  EXPECT_EQ(content_of(2), "again");
}

TEST_F(ClaimTest, ALoadTakesOverOnlyWhatAnEarlierGenerationOfItsJobHas) {
  const std::filesystem::path file = on_one(1, "job", 2).on.file;
  renew_claim(on_one(1, "job", 2));
  EXPECT_FALSE(std::filesystem::exists(file)) << "a folder that is only read gets no claim";
  claim_checkpoints(on_one(1, "other", 7));
  renew_claim(on_one(1, "job", 2));
  check_claim(on_one(1, "other", 7));
  claim_checkpoints(on_one(1, "job", 1));
  renew_claim(on_one(1, "job", 2));
  EXPECT_THROW(check_claim(on_one(1, "job", 1)), CheckpointError);
  check_claim(on_one(1, "job", 2));
  EXPECT_THROW(renew_claim(on_one(1, "job", 1)), CheckpointError) << "it is earlier";
}

TEST_F(ClaimTest, TheBeginOfASaveClaimsItsFolder) {
  const std::filesystem::path folder = parent_ / checkpoint_name(1);
  begin_checkpoint(folder, on_one(1, "job", 2));
  EXPECT_THROW(begin_checkpoint(folder, on_one(1, "job", 1)), CheckpointError);
  EXPECT_TRUE(std::filesystem::exists(folder.string() + ".partial"));
}

}  // namespace
}  // namespace accel::runtime
