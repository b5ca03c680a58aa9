// Keeps an earlier generation of a job from committing checkpoints after a later one has started.
// The claim is a file in the folder that holds the automatically named checkpoints.
// runtime/core/checkpoint_claim.h decides its contents and who may write it.
//
// A claim guards the commit only. Ranks of an earlier generation that still run may write into the
// same partial folder (docs/decisions/0016, known limits).
#pragma once

#include <filesystem>

#include "runtime/core/checkpoint_claim.h"

namespace accel::runtime {

// Writes `claim` into `parent`, durably. From then on no earlier generation of this job commits a
// checkpoint there. Another job does so only if it later claims `parent` itself. Creates `parent`
// if it does not exist. Throws CheckpointError if a later generation of the same job has claimed
// `parent`, or if the file cannot be read or written.
void claim_checkpoints(const std::filesystem::path& parent, const Claim& claim);

// Throws CheckpointError, which names both claims, if another job or generation than
// `mine` has claimed `parent`.
void check_claim(const std::filesystem::path& parent, const Claim& mine);

}  // namespace accel::runtime
