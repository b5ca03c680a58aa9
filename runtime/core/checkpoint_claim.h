// The claim on a folder of automatically named checkpoints: the job and generation that may
// commit checkpoints there.
//
// When a job restarts, ranks of its previous generation may still run on a node. The node may be
// cut off from the coordinator but not from the shared disk. Their late checkpoint would have
// the highest number and would be loaded by the next restart. Each generation therefore writes
// its claim into the folder before it saves. A commit compares its own claim with the claim in
// the folder (docs/decisions/0016).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace accel::runtime {

// A job of the launcher, and the generation of it that saves.
struct Claim {
  std::string job;
  std::uint64_t generation = 0;

  friend bool operator==(const Claim&, const Claim&) = default;
};

// The largest claim that is read, in bytes.
inline constexpr std::uint64_t kMaxClaim = 4096;

// Returns the text of the claim file: the job's id, a space, the generation, a newline.
std::string claim_text(const Claim& claim);

// Reads such a text. A text without a generation is a claim of generation 0.
Claim parse_claim(const std::string& text);

// Returns true if `mine` may replace `current`, the claim in the folder (nullopt if there is none).
// Returns false only if `mine` is of an earlier generation of the same job. Generations of
// different jobs cannot be compared, so another job may always claim the folder.
bool may_claim(const std::optional<Claim>& current, const Claim& mine);

// Returns true if the holder of `mine` may commit a checkpoint, because no other job or generation
// has claimed the folder.
bool may_commit(const std::optional<Claim>& current, const Claim& mine);

}  // namespace accel::runtime
