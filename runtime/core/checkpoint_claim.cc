#include "runtime/core/checkpoint_claim.h"

#include <cstdlib>

namespace accel::runtime {

std::string claim_text(const Claim& claim) {
  return claim.job + " " + std::to_string(claim.generation) + "\n";
}

Claim parse_claim(const std::string& text) {
  const std::size_t space = text.rfind(' ');
  Claim claim{.job = text.substr(0, space), .generation = 0};
  if (space != std::string::npos) claim.generation = std::strtoull(&text[space], nullptr, 10);
  return claim;
}

bool may_claim(const std::optional<Claim>& current, const Claim& mine) {
  return !current || current->job != mine.job || current->generation <= mine.generation;
}

bool may_commit(const std::optional<Claim>& current, const Claim& mine) {
  return !current || *current == mine;
}

}  // namespace accel::runtime
