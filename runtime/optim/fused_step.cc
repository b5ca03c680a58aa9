#include "runtime/optim/fused_step.h"

#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/_fused_sgd.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros_like.h>

#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/optim/libtorch.h"

namespace accel::runtime {
namespace {

using torch::optim::Optimizer;
using Tensors = std::vector<at::Tensor>;

// The arguments of one call of a kernel: tensors of one dtype on one device.
struct Lists {
  Tensors parameters, gradients;
  Tensors firsts, seconds, maxima;  // SGD has its momentum in `firsts`.
  Tensors steps;
};
// Dtype, device, and for SGD whether the parameters have no momentum yet.
using ListsKey = std::tuple<at::ScalarType, c10::DeviceType, c10::DeviceIndex, bool>;
using ListsByKey = std::map<ListsKey, Lists>;

// The kernels, like autograd, ignore the strides of dimensions that have one element.
bool has_strides_of(const at::Tensor& tensor, const at::Tensor& parameter) {
  for (std::int64_t i = 0; i < tensor.dim(); ++i) {
    if (tensor.size(i) > 1 && tensor.stride(i) != parameter.stride(i)) return false;
  }
  return true;
}

bool is_laid_out_like(const at::Tensor& tensor, const at::Tensor& parameter) {
  return tensor.layout() == at::kStrided && tensor.scalar_type() == parameter.scalar_type() &&
         tensor.device() == parameter.device() && tensor.sizes() == parameter.sizes() &&
         has_strides_of(tensor, parameter);
}

// The kernels read the memory of a tensor from end to end, whatever its shape.
bool has_kernel(const at::Tensor& parameter) {
  const bool known = parameter.is_cpu() || parameter.is_cuda();
  return known && at::isFloatingType(parameter.scalar_type()) &&
         at::elementSize(parameter.scalar_type()) > 1 && parameter.is_non_overlapping_and_dense() &&
         is_laid_out_like(parameter.grad(), parameter);
}

template <typename State>
State* state_of(Optimizer& optimizer, const at::Tensor& parameter) {
  const auto found = optimizer.state().find(parameter.unsafeGetTensorImpl());
  return found == optimizer.state().end() ? nullptr : static_cast<State*>(found->second.get());
}

template <typename State>
State& add_state(Optimizer& optimizer, const at::Tensor& parameter) {
  auto& place = optimizer.state()[parameter.unsafeGetTensorImpl()];
  place = std::make_unique<State>();
  return static_cast<State&>(*place);
}

std::vector<at::Tensor> moments_of(torch::optim::AdamParamState& state) {
  return {state.exp_avg(), state.exp_avg_sq(), state.max_exp_avg_sq()};
}
std::vector<at::Tensor> moments_of(torch::optim::AdamWParamState& state) {
  return {state.exp_avg(), state.exp_avg_sq(), state.max_exp_avg_sq()};
}
std::vector<at::Tensor> moments_of(torch::optim::SGDParamState& state) {
  return {state.momentum_buffer()};
}

// Returns true if every parameter that has a gradient can be stepped by a kernel.
template <typename State>
bool has_kernels(Optimizer& optimizer) {
  for (const auto& group : optimizer.param_groups()) {
    for (const at::Tensor& parameter : group.params()) {
      if (!parameter.grad().defined()) continue;
      if (!has_kernel(parameter)) return false;
      State* const state = state_of<State>(optimizer, parameter);
      if (state == nullptr) continue;
      for (const at::Tensor& moment : moments_of(*state)) {
        if (moment.defined() && !is_laid_out_like(moment, parameter)) return false;
      }
    }
  }
  return true;
}

Lists& lists_for(ListsByKey& all, const at::Tensor& parameter, bool is_first = false) {
  Lists& lists = all[{parameter.scalar_type(), parameter.device().type(),
                      parameter.device().index(), is_first}];
  lists.parameters.push_back(parameter);
  lists.gradients.push_back(parameter.grad());
  return lists;
}

// The numbers of steps, as tensors on the devices, where the kernels read them. Nearly always all
// parameters have made equally many steps, so there is one tensor for each device.
class StepTensors {
 public:
  const at::Tensor& get(std::int64_t step, const c10::Device& device) {
    at::Tensor& tensor = tensors_[{step, device.type(), device.index()}];
    if (!tensor.defined()) {
      tensor = at::full({}, static_cast<double>(step), at::TensorOptions(device).dtype(at::kFloat));
    }
    return tensor;
  }

 private:
  std::map<std::tuple<std::int64_t, c10::DeviceType, c10::DeviceIndex>, at::Tensor> tensors_;
};

template <typename State, typename Options, typename Kernel>
bool adam_step(Optimizer& optimizer, Kernel&& kernel) {
  const torch::NoGradGuard no_grad;
  if (!has_kernels<State>(optimizer)) return false;
  StepTensors steps;
  for (auto& group : optimizer.param_groups()) {
    const auto& options = static_cast<const Options&>(group.options());
    ListsByKey all;
    for (const at::Tensor& parameter : group.params()) {
      if (!parameter.grad().defined()) continue;
      State* state = state_of<State>(optimizer, parameter);
      if (state == nullptr) {
        state = &add_state<State>(optimizer, parameter);
        state->exp_avg(at::zeros_like(parameter, at::MemoryFormat::Preserve));
        state->exp_avg_sq(at::zeros_like(parameter, at::MemoryFormat::Preserve));
        if (options.amsgrad()) {
          state->max_exp_avg_sq(at::zeros_like(parameter, at::MemoryFormat::Preserve));
        }
      }
      state->step(state->step() + 1);
      Lists& lists = lists_for(all, parameter);
      lists.firsts.push_back(state->exp_avg());
      lists.seconds.push_back(state->exp_avg_sq());
      if (options.amsgrad()) lists.maxima.push_back(state->max_exp_avg_sq());
      lists.steps.push_back(steps.get(state->step(), parameter.device()));
    }
    for (const auto& [key, lists] : all) kernel(lists, options);
  }
  return true;
}

}  // namespace

bool fused_step(torch::optim::Adam& optimizer) {
  using Options = torch::optim::AdamOptions;
  return adam_step<torch::optim::AdamParamState, Options>(
      optimizer, [](const Lists& lists, const Options& options) {
        at::_fused_adam_(lists.parameters, lists.gradients, lists.firsts, lists.seconds,
                         lists.maxima, lists.steps, options.lr(), std::get<0>(options.betas()),
                         std::get<1>(options.betas()), options.weight_decay(), options.eps(),
                         options.amsgrad(), /*maximize=*/false);
      });
}

bool fused_step(torch::optim::AdamW& optimizer) {
  using Options = torch::optim::AdamWOptions;
  return adam_step<torch::optim::AdamWParamState, Options>(
      optimizer, [](const Lists& lists, const Options& options) {
        at::_fused_adamw_(lists.parameters, lists.gradients, lists.firsts, lists.seconds,
                          lists.maxima, lists.steps, options.lr(), std::get<0>(options.betas()),
                          std::get<1>(options.betas()), options.weight_decay(), options.eps(),
                          options.amsgrad(), /*maximize=*/false);
      });
}

bool fused_step(torch::optim::SGD& optimizer) {
  using State = torch::optim::SGDParamState;
  const torch::NoGradGuard no_grad;
  if (!has_kernels<State>(optimizer)) return false;
  for (auto& group : optimizer.param_groups()) {
    const auto& options = static_cast<const torch::optim::SGDOptions&>(group.options());
    const bool has_momentum = options.momentum() != 0;
    ListsByKey all;
    for (const at::Tensor& parameter : group.params()) {
      if (!parameter.grad().defined()) continue;
      State* state = has_momentum ? state_of<State>(optimizer, parameter) : nullptr;
      const bool is_first =
          has_momentum && (state == nullptr || !state->momentum_buffer().defined());
      Lists& lists = lists_for(all, parameter, is_first);
      if (!has_momentum) continue;
      if (is_first) {
        state = &add_state<State>(optimizer, parameter);
        state->momentum_buffer(at::empty_like(parameter, at::MemoryFormat::Preserve));
      }
      lists.firsts.push_back(state->momentum_buffer());
    }
    for (const auto& [key, lists] : all) {
      at::_fused_sgd_(lists.parameters, lists.gradients, lists.firsts, options.weight_decay(),
                      options.momentum(), options.lr(), options.dampening(), options.nesterov(),
                      /*maximize=*/false, /*is_first_step=*/std::get<bool>(key));
    }
  }
  return true;
}

}  // namespace accel::runtime
