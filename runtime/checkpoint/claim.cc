#include "runtime/checkpoint/claim.h"

#include <optional>
#include <string>

#include "accel/errors.h"
#include "runtime/checkpoint/durable_file.h"
#include "runtime/checkpoint/file_reader.h"

namespace accel::runtime {
namespace fs = std::filesystem;
namespace {

constexpr char kClaimFile[] = ".claim";

std::optional<Claim> read_claim(const fs::path& parent) {
  if (!fs::exists(parent / kClaimFile)) return std::nullopt;
  return parse_claim(read_text(parent / kClaimFile, kMaxClaim));
}

CheckpointError taken_over(const fs::path& parent, const Claim& current, const Claim& mine) {
  return CheckpointError(parent.string() + ": generation " + std::to_string(current.generation) +
                         " of job " + current.job + " has taken over, and generation " +
                         std::to_string(mine.generation) + " of job " + mine.job +
                         " commits no more checkpoints here");
}

}  // namespace

void claim_checkpoints(const fs::path& parent, const Claim& claim) {
  const std::optional<Claim> current = read_claim(parent);
  if (!may_claim(current, claim)) throw taken_over(parent, *current, claim);
  const std::string text = claim_text(claim);
  replace_durably(parent / kClaimFile, {text});
}

void check_claim(const fs::path& parent, const Claim& mine) {
  const std::optional<Claim> current = read_claim(parent);
  if (!may_commit(current, mine)) throw taken_over(parent, *current, mine);
}

}  // namespace accel::runtime
