// Keeps an earlier generation of a job from committing checkpoints after a later one has started.
// runtime/core/checkpoint_claim.h decides the contents of a claim and who may write it.
//
// A claim guards the commit only. Ranks of an earlier generation that still run may write into the
// same partial folder (docs/decisions/0016, known limits).
#pragma once

#include <filesystem>

#include "runtime/core/checkpoint_claim.h"

namespace accel::runtime {

// What a claim is about, and the file that has it.
struct ClaimedPlace {
  std::filesystem::path place;
  std::filesystem::path file;
};

// Returns the place of all automatically named checkpoints in `parent`. Its file is in `parent`.
ClaimedPlace claimed_parent(const std::filesystem::path& parent);

// Returns the place of the one checkpoint `folder`, which the program has named. Its file is next
// to `folder`, because others may save next to it. The path must be resolved (folder_paths.h).
ClaimedPlace claimed_folder(const std::filesystem::path& folder);

// A place, and the claim that a process has or wants to have on it.
struct HeldClaim {
  ClaimedPlace on;
  Claim claim;
};

// Writes the claim, durably. From then on no earlier generation of this job commits a checkpoint
// there. Another job does so only if it later claims the place itself. Creates the folder of the
// file if it does not exist. Throws CheckpointError if a later generation of the same job has
// claimed the place, or if the file cannot be read or written.
void claim_checkpoints(const HeldClaim& held);

// Does so only if an earlier generation of this job has a claim on the place, as is due before a
// load. Other folders that are only read get no claim. Throws CheckpointError as above.
void renew_claim(const HeldClaim& held);

// Throws CheckpointError, which names both claims, if another job or generation has claimed the
// place.
void check_claim(const HeldClaim& held);

}  // namespace accel::runtime
