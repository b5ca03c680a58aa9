#include "accel/local_sgd.h"

#include <exception>
#include <stdexcept>
#include <string>

#include "runtime/step/libtorch.h"

namespace accel {

LocalSgd::LocalSgd(const Accelerator& accelerator, std::shared_ptr<torch::nn::Module> module,
                   const std::shared_ptr<runtime::ParallelStrategy>& strategy, int every_steps,
                   bool enabled)
    : accelerator_(accelerator),
      module_(std::move(module)),
      enabled_(enabled && accelerator.use_distributed()),
      every_steps_(every_steps),
      exceptions_(std::uncaught_exceptions()),
      local_gradients_(runtime::GradientSync::kOff, {enabled_ ? strategy : nullptr}) {
  if (every_steps < 1) {
    throw std::invalid_argument("LocalSgd averages every " + std::to_string(every_steps) +
                                " steps, which should be at least 1");
  }
}

LocalSgd::~LocalSgd() noexcept(false) {
  if (enabled_ && std::uncaught_exceptions() == exceptions_) average();
}

void LocalSgd::step() {
  ++steps_;
  if (enabled_ && steps_ % every_steps_ == 0) average();
}

void LocalSgd::average() {
  std::vector<at::Tensor> parameters;
  for (const at::Tensor& parameter : module_->parameters()) {
    parameters.push_back(parameter.detach());
  }
  const std::vector<at::Tensor> means = accelerator_.reduce(parameters, torch::kMean);
  for (std::size_t i = 0; i < means.size(); ++i) parameters[i].copy_(means[i]);
}

}  // namespace accel
