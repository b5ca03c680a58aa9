#include "runtime/checkpoint/claim.h"

#include <optional>
#include <string>

#include "accel/errors.h"
#include "runtime/checkpoint/durable_file.h"
#include "runtime/checkpoint/file_reader.h"

namespace accel::runtime {
namespace fs = std::filesystem;
namespace {

std::optional<Claim> read_claim(const fs::path& file) {
  if (!fs::exists(file)) return std::nullopt;
  return parse_claim(read_text(file, kMaxClaim));
}

CheckpointError taken_over(const HeldClaim& held, const Claim& current) {
  return CheckpointError(
      held.on.place.string() + ": generation " + std::to_string(current.generation) + " of job " +
      current.job + " has taken over, and generation " + std::to_string(held.claim.generation) +
      " of job " + held.claim.job + " commits no more checkpoints here");
}

}  // namespace

ClaimedPlace claimed_parent(const fs::path& parent) { return {parent, parent / ".claim"}; }

ClaimedPlace claimed_folder(const fs::path& folder) { return {folder, folder.string() + ".claim"}; }

void claim_checkpoints(const HeldClaim& held) {
  const std::optional<Claim> current = read_claim(held.on.file);
  if (!may_claim(current, held.claim)) throw taken_over(held, *current);
  const std::string text = claim_text(held.claim);
  replace_durably(held.on.file, {text});
}

void renew_claim(const HeldClaim& held) {
  const std::optional<Claim> current = read_claim(held.on.file);
  if (current && current->job == held.claim.job && *current != held.claim) claim_checkpoints(held);
}

void check_claim(const HeldClaim& held) {
  const std::optional<Claim> current = read_claim(held.on.file);
  if (!may_commit(current, held.claim)) throw taken_over(held, *current);
}

}  // namespace accel::runtime
