// What backward() refuses of a loss before it begins.
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

// Throws std::logic_error if the loss is of a model whose batch another Accelerator has begun: the
// loss would be divided by the steps of `window`, while the optimizers follow the other one.
void expect_own_batch(const at::Tensor& loss, const OpenBatches& batches,
                      const Accumulation& window);

// Throws std::logic_error if one of `models` has computed in full precision, because it was called
// without its prepared holder. Nothing else would tell.
void expect_autocast(const at::Tensor& loss,
                     const std::vector<std::shared_ptr<torch::nn::Module>>& models);

}  // namespace accel::runtime
