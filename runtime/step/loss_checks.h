// Checks of a loss before backward() begins.
#pragma once

#include <memory>
#include <vector>

namespace at {
class Tensor;
}
namespace torch::nn {
class Module;
}

namespace accel::runtime {

class Accumulation;
class OpenBatches;

// Throws std::logic_error if no batch of `window` is open, and the loss is of a model whose batch
// another Accelerator has begun. The loss would be divided by the steps of `window`, but the
// optimizers follow the window of the other Accelerator.
void expect_own_batch(const at::Tensor& loss, const OpenBatches& batches,
                      const Accumulation& window);

// Throws std::logic_error if one of `models` has computed in full precision, because it was called
// without its prepared holder. Otherwise the training would be slower without any error.
void expect_autocast(const at::Tensor& loss,
                     const std::vector<std::shared_ptr<torch::nn::Module>>& models);

}  // namespace accel::runtime
