// How ranks with different numbers of batches go through their backward passes together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace accel {

// One model in the backward pass that a rank is about to begin.
struct AnnouncedModel {
  bool takes_part = false;  // Its gradients are reduced.
  bool buffers = false;     // Its buffers are broadcast after that.

  bool operator==(const AnnouncedModel&) const = default;
};

inline constexpr std::size_t kMostJoinedModels = 31;

// What a rank announces: 0 if it has ended, and goes through the passes of the others. At most
// kMostJoinedModels models, of which one takes part.
std::int64_t announcement_of(const std::vector<AnnouncedModel>& models);

struct JoinRound {
  bool over = false;  // All ranks have ended.
  int leader = 0;     // The lowest rank that has not: its buffers count.
  std::vector<AnnouncedModel> models = {};
};

// Of what all ranks announced, in rank order. Throws std::logic_error, naming two ranks, if those
// that have not ended begin different passes.
JoinRound join_round(const std::vector<std::int64_t>& announced, std::size_t models);

}  // namespace accel
