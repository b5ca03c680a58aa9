// Decides, for join_uneven_inputs(), how ranks with different numbers of batches go through their
// backward passes together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace accel::runtime {

// The part of one model in the backward pass that a rank is about to begin.
struct AnnouncedModel {
  bool takes_part = false;  // The pass reduces the model's gradients.
  bool buffers = false;     // After that, it broadcasts the model's buffers.

  bool operator==(const AnnouncedModel&) const = default;
};

inline constexpr std::size_t kMaxJoinedModels = 31;

// Encodes the announcement of a rank that begins a pass: two bits per model, never 0. A rank that
// has run out of batches announces 0. Takes at most kMaxJoinedModels models, of which at least
// one takes part.
std::int64_t announcement_of(const std::vector<AnnouncedModel>& models);

struct JoinRound {
  bool over = false;  // All ranks have run out of batches.
  int leader = 0;     // The lowest rank that has a batch. The others take its buffers.
  std::vector<AnnouncedModel> models = {};
};

// Decides the next round from the announcements of all ranks, in rank order, about `models` models.
// Throws std::logic_error, naming two ranks, if ranks that have batches begin different passes.
JoinRound join_round(const std::vector<std::int64_t>& announced, std::size_t models);

}  // namespace accel::runtime
