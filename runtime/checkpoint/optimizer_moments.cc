#include "runtime/checkpoint/optimizer_moments.h"

#include <torch/optim/adagrad.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/rmsprop.h>
#include <torch/optim/sgd.h>

#include <stdexcept>
#include <utility>

namespace accel::runtime {

namespace optim = torch::optim;

std::optional<std::vector<at::Tensor*>> moments_of(optim::OptimizerParamState& state) {
  if (auto* adam = dynamic_cast<optim::AdamParamState*>(&state)) {
    return {{&adam->exp_avg(), &adam->exp_avg_sq(), &adam->max_exp_avg_sq()}};
  }
  if (auto* adam = dynamic_cast<optim::AdamWParamState*>(&state)) {
    return {{&adam->exp_avg(), &adam->exp_avg_sq(), &adam->max_exp_avg_sq()}};
  }
  if (auto* sgd = dynamic_cast<optim::SGDParamState*>(&state)) return {{&sgd->momentum_buffer()}};
  if (auto* adagrad = dynamic_cast<optim::AdagradParamState*>(&state)) return {{&adagrad->sum()}};
  if (auto* rms = dynamic_cast<optim::RMSpropParamState*>(&state)) {
    return {{&rms->square_avg(), &rms->momentum_buffer(), &rms->grad_avg()}};
  }
  return std::nullopt;
}

std::vector<at::Tensor*> known_moments_of(optim::OptimizerParamState& state) {
  auto moments = moments_of(state);
  if (moments) return *std::move(moments);
  throw std::invalid_argument(
      "the state of this optimizer for a sharded model cannot be saved or loaded, because its "
      "class is not one of SGD, Adam, AdamW, Adagrad and RMSprop");
}

std::vector<std::string> moment_names(const optim::OptimizerParamState& state) {
  if (dynamic_cast<const optim::SGDParamState*>(&state) != nullptr) return {"momentum_buffer"};
  if (dynamic_cast<const optim::AdagradParamState*>(&state) != nullptr) return {"sum"};
  if (dynamic_cast<const optim::RMSpropParamState*>(&state) != nullptr) {
    return {"square_avg", "momentum_buffer", "grad_avg"};
  }
  return {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"};
}

}  // namespace accel::runtime
