#include "runtime/checkpoint/window_gradients.h"

#include <optional>

namespace accel::runtime {
namespace {

// The parameters that have gradients to save, each once.
NamedTensors trained_parameters(const torch::nn::Module& module) {
  NamedTensors parameters;
  for (const auto& item : module.named_parameters()) {
    if (item.value().requires_grad()) parameters.emplace_back(item.key(), item.value());
  }
  return without_tied(parameters);
}

// Returns one number for each parameter: not 0 if any rank has a gradient of it. All ranks must
// agree before the gradients are reduced, because each reduction is collective.
torch::Tensor gradients_on_any_rank(const NamedTensors& parameters, const ProcessState& process) {
  const torch::Tensor present = torch::zeros({static_cast<std::int64_t>(parameters.size())});
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].second.grad().defined()) present[static_cast<std::int64_t>(i)] = 1;
  }
  if (process.communicator != nullptr) process.communicator->all_reduce_max(present);
  return present;
}

}  // namespace

NamedTensors mean_gradients(const torch::nn::Module& module, const ProcessState& process) {
  const NamedTensors parameters = trained_parameters(module);
  const torch::Tensor present = gradients_on_any_rank(parameters, process);
  NamedTensors gradients;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (present[static_cast<std::int64_t>(i)].item<float>() == 0) continue;
    const auto& [name, parameter] = parameters[i];
    torch::Tensor gradient = parameter.grad().defined()
                                 ? parameter.grad().detach().clone(torch::MemoryFormat::Contiguous)
                                 : torch::zeros_like(parameter, torch::MemoryFormat::Contiguous);
    if (process.communicator != nullptr) {
      process.communicator->all_reduce_sum(gradient);
      gradient.div_(process.mesh.data_parallel_size());
    }
    gradients.emplace_back(name, gradient);
  }
  return gradients;
}

void load_gradients(const torch::nn::Module& module, const std::filesystem::path& file) {
  std::optional<TensorFileReader> reader;
  if (std::filesystem::exists(file)) reader.emplace(file);
  for (auto& [name, parameter] : trained_parameters(module)) {
    const weights::SafetensorsEntry* entry = reader ? reader->header().find(name) : nullptr;
    parameter.mutable_grad() =
        entry != nullptr ? reader->read(*entry).to(parameter.options()) : torch::Tensor();
  }
}

}  // namespace accel::runtime
