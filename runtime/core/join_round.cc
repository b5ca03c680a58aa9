#include "runtime/core/join_round.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace accel {

std::int64_t announcement_of(const std::vector<AnnouncedModel>& models) {
  std::int64_t bits = 0;
  for (std::size_t i = 0; i < models.size(); ++i) {
    if (models[i].takes_part) bits |= std::int64_t{1} << (2 * i);
    if (models[i].buffers) bits |= std::int64_t{2} << (2 * i);
  }
  return bits;
}

JoinRound join_round(const std::vector<std::int64_t>& announced, std::size_t models) {
  const auto active = [](std::int64_t bits) { return bits != 0; };
  const auto first = std::find_if(announced.begin(), announced.end(), active);
  if (first == announced.end()) return {.over = true};
  const auto differs = std::find_if(
      first, announced.end(), [&](std::int64_t bits) { return active(bits) && bits != *first; });
  if (differs != announced.end()) {
    throw std::logic_error("join_uneven_inputs: ranks " +
                           std::to_string(first - announced.begin()) + " and " +
                           std::to_string(differs - announced.begin()) +
                           " begin the backward passes of different models, or only one of them "
                           "is in training mode");
  }
  JoinRound round{.leader = static_cast<int>(first - announced.begin())};
  for (std::size_t i = 0; i < models; ++i) {
    round.models.push_back(
        {.takes_part = (*first >> (2 * i) & 1) != 0, .buffers = (*first >> (2 * i) & 2) != 0});
  }
  return round;
}

}  // namespace accel
