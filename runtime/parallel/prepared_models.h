#pragma once

#include <memory>
#include <vector>

#include "runtime/parallel/strategy.h"

namespace accel {

// The models that the Accelerators of a process have prepared, whether anybody keeps what prepare()
// returned or not. Not thread-safe.
class PreparedModels {
 public:
  // `owner`, an Accelerator, has prepared it. It stays prepared until every owner has released it,
  // and as long as somebody holds it; or until nobody else holds its module.
  void add(const std::shared_ptr<ParallelStrategy>& model, const void* owner);
  void release(const void* owner);

  // In the order in which they were prepared first.
  std::vector<std::shared_ptr<ParallelStrategy>> all();
  // Null if there is none.
  std::shared_ptr<ParallelStrategy> find(const torch::nn::Module& module);

 private:
  struct Prepared {
    std::weak_ptr<ParallelStrategy> living;
    std::shared_ptr<ParallelStrategy> owned;  // Null without owners.
    std::vector<const void*> owners;
  };
  void forget_dead();

  std::vector<Prepared> models_;
};

}  // namespace accel
