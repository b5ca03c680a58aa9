// What Accelerator::prepare() can be given.
#pragma once

#include <concepts>
#include <memory>

#include "runtime/data/data_loader.h"

namespace torch::nn {
class Module;
}
namespace torch::optim {
class LRScheduler;
class Optimizer;
}  // namespace torch::optim

namespace accel {

template <typename T>
inline constexpr bool accel_loader = false;
template <typename Dataset, typename Sampler>
inline constexpr bool accel_loader<DataLoader<Dataset, Sampler>> = true;

template <typename T>
inline constexpr bool torch_loader = false;
template <typename Dataset, typename Sampler>
inline constexpr bool
    torch_loader<std::unique_ptr<torch::data::StatelessDataLoader<Dataset, Sampler>>> = true;
template <typename Dataset>
inline constexpr bool torch_loader<std::unique_ptr<torch::data::StatefulDataLoader<Dataset>>> =
    true;

// The module behind a holder made with TORCH_MODULE, or behind a shared_ptr.
template <typename Holder>
auto module_of(const Holder& holder) -> decltype(holder.ptr()) {
  return holder.ptr();
}
template <std::derived_from<torch::nn::Module> Module>
std::shared_ptr<torch::nn::Module> module_of(const std::shared_ptr<Module>& module) {
  return module;
}

template <typename T>
concept module_holder = requires(const T& holder) {
  { module_of(holder) } -> std::convertible_to<std::shared_ptr<torch::nn::Module>>;
};

// The same of such a holder, or of a prepared model.
template <typename Holder>
std::shared_ptr<torch::nn::Module> any_module_of(const Holder& model) {
  if constexpr (requires { model.unwrap(); }) {
    return module_of(model.unwrap());
  } else {
    return module_of(model);
  }
}

// A smart pointer to something of class `Base`.
template <typename T, typename Base>
concept pointer_to = requires {
  typename T::element_type;
}
&&std::derived_from<typename T::element_type, Base>&&
    std::constructible_from<std::shared_ptr<typename T::element_type>, T>;

template <typename T>
concept optimizer_pointer = pointer_to<T, torch::optim::Optimizer>;
template <typename T>
concept torch_scheduler = std::derived_from<T, torch::optim::LRScheduler>;
template <typename T>
concept torch_scheduler_pointer = pointer_to<T, torch::optim::LRScheduler>;

}  // namespace accel
