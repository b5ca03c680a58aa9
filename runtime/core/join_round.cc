// Backward passes of ranks that run out of batches at different times.
//
// A backward pass is collective, because it reduces gradients. A rank that has no batch left would
// leave the others waiting. The ranks therefore agree before each pass. Every rank announces in one
// all-gather what it is about to do. A rank that has ended learns from the announcements which
// models to shadow with gradients of zero, and when all ranks have ended. One 64-bit number per
// rank is enough:
//
// clang-format off
//   bit 2i       model i takes part in the pass
//   bit 2i + 1   model i has buffers and is in training mode: the pass then broadcasts them
//   all bits 0   the rank has ended
// clang-format on
//
// Three ranks train model 0 with 2, 1 and 3 batches; each line is one all-gather:
//
// clang-format off
//   rank 0   rank 1   rank 2
//     3        3        3      all reduce
//     3        0        3      rank 1 shadows, with the buffers of rank 0, the leader
//     0        0        3      ranks 0 and 1 shadow, with the buffers of rank 2
//     0        0        0      over
// clang-format on
//
// Ranks that have batches must announce the same number. Different numbers mean that the ranks
// are about to reduce different models, which would mix up gradients, so join_round() throws
// on every rank.
#include "runtime/core/join_round.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace accel::runtime {

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

}  // namespace accel::runtime
