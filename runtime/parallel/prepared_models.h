// The registry of prepared models, of which a process has one (ProcessState::models).
#pragma once

#include <memory>
#include <vector>

#include "runtime/parallel/strategy.h"

namespace accel::runtime {

// The models that the Accelerators of a process have prepared, even if the program has dropped the
// results of prepare() (docs/decisions/0025). Not thread-safe.
class PreparedModels {
 public:
  // Adds a model that the Accelerator identified by `owner` has prepared. The model remains
  // prepared while there is another pointer to `model`. As long as one of its owners has not called
  // release(), another pointer to its module is enough.
  void add(const std::shared_ptr<ParallelStrategy>& model, const void* owner);
  void release(const void* owner);

  // Returns the models in the order in which they were first prepared.
  std::vector<std::shared_ptr<ParallelStrategy>> all();
  // Returns the model of this module, or null.
  std::shared_ptr<ParallelStrategy> find(const torch::nn::Module& module);

 private:
  struct Prepared {
    std::weak_ptr<ParallelStrategy> living;
    std::shared_ptr<ParallelStrategy> owned;  // Null if there are no owners.
    std::vector<const void*> owners;
  };
  void forget_dead();

  std::vector<Prepared> models_;
};

}  // namespace accel::runtime
