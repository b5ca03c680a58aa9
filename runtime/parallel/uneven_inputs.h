#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/parallel/strategy.h"

namespace accel {

class Communicator;

// A scope in which ranks may make different numbers of backward passes: a rank that has ended takes
// part in the others', with gradients of zero, until all have. Not thread-safe.
class UnevenInputs {
 public:
  // Models that may take part, the same on all ranks.
  UnevenInputs(std::vector<std::shared_ptr<ParallelStrategy>> models,
               std::shared_ptr<Communicator> communicator);

  // Before a backward pass that reduces this model. Collective: one all-gather. Throws
  // std::logic_error if the ranks are about to do different things.
  void announce(ParallelStrategy& model);

  // This rank has ended: goes through the others' passes until all have. Then parameters and
  // buffers become those of a rank that ended last, which is returned; std::nullopt if all ended
  // together. Collective: what announce() and the passes cost, one all-gather, and a broadcast.
  std::optional<int> finish();

 private:
  std::vector<std::int64_t> gather(std::int64_t number);

  const std::vector<std::shared_ptr<ParallelStrategy>> models_;
  const std::shared_ptr<Communicator> communicator_;
};

}  // namespace accel
