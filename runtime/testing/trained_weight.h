// A prepared Weight and its optimizer, for tests of the steps of one or two ranks.
#pragma once

#include <memory>

#include "accel/accelerator.h"
#include "runtime/testing/weight.h"

namespace accel::runtime {

// Returns 1 on rank 0 and 3 on rank 1; their mean is 2.
inline float own_number(const Accelerator& accelerator) {
  return accelerator.is_main_process() ? 1 : 3;
}

// A prepared weight and its optimizer, with learning rate 1.
struct TrainedWeight {
  explicit TrainedWeight(Accelerator& accelerator)
      : model(accelerator.prepare(weight)),
        optimizer(accelerator.prepare(torch::optim::SGD(weight->parameters(), 1.0))) {}

  std::shared_ptr<Weight> weight = std::make_shared<Weight>();
  Model<std::shared_ptr<Weight>> model;
  Optimizer<torch::optim::SGD> optimizer;

  float value() const { return weight->w.item<float>(); }
};

}  // namespace accel::runtime
