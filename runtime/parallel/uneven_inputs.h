// Keeps ranks with different numbers of batches together, for Accelerator::join_uneven_inputs().
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/parallel/strategy.h"

namespace accel::runtime {

class Communicator;

// The ranks inside join_uneven_inputs(), which may make different numbers of backward passes. A
// rank that has ended takes part in the passes of the others with gradients of zero, until all have
// ended. Not thread-safe.
class UnevenInputs {
 public:
  // `models` are those that a pass may reduce, the same on all ranks. Throws std::invalid_argument
  // if there are more than kMaxJoinedModels, or if a model is sharded.
  UnevenInputs(std::vector<std::shared_ptr<ParallelStrategy>> models,
               std::shared_ptr<Communicator> communicator);

  // Announces a backward pass that reduces `model`. Call it before each pass. Collective: one
  // all-gather. Throws std::logic_error if the ranks are about to make different passes.
  void announce(ParallelStrategy& model);

  // Takes part in the passes of the other ranks until all ranks have ended. Call it when this rank
  // has ended. Then copies the parameters and buffers of a rank that ended last to all ranks, and
  // returns that rank. Returns std::nullopt, and copies nothing, if all ended together. Collective:
  // the calls of announce() and of the passes, one all-gather, and broadcasts.
  std::optional<int> finish();

 private:
  std::vector<std::int64_t> gather(std::int64_t number);

  const std::vector<std::shared_ptr<ParallelStrategy>> models_;
  const std::shared_ptr<Communicator> communicator_;
};

}  // namespace accel::runtime
