#include "runtime/parallel/gradient_hook.h"

#include <torch/csrc/autograd/function_hook.h>

#include <utility>

namespace accel::runtime {
namespace {

class CallingHook final : public torch::autograd::FunctionPostHook {
 public:
  explicit CallingHook(const std::function<void()>& arrived) : arrived_(arrived) {}
  torch::autograd::variable_list operator()(const torch::autograd::variable_list& outputs,
                                            const torch::autograd::variable_list&) override {
    arrived_();
    return outputs;
  }

 private:
  const std::function<void()>& arrived_;
};

}  // namespace

GradientHook::GradientHook(std::function<void()> arrived) : arrived_(std::move(arrived)) {}

GradientHook::~GradientHook() { remove(); }

void GradientHook::follow(const at::Tensor& parameter) {
  auto accumulator =
      parameter.requires_grad() ? torch::autograd::impl::grad_accumulator(parameter) : nullptr;
  if (accumulator == accumulator_) return;
  remove();
  accumulator_ = std::move(accumulator);
  if (accumulator_ == nullptr) return;
  key_ = accumulator_->add_post_hook(std::make_unique<CallingHook>(arrived_));
}

void GradientHook::remove() {
  if (accumulator_ != nullptr) accumulator_->del_post_hook(key_);
  accumulator_ = nullptr;
}

}  // namespace accel::runtime
