// Classifies the arguments of Accelerator::prepare(). Declares LibTorch's classes and does not
// include their headers, because a program that has such an object has included its header.
#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <vector>

namespace torch::data {
template <typename Dataset, typename Sampler>
class StatelessDataLoader;
template <typename Dataset>
class StatefulDataLoader;
}  // namespace torch::data
namespace torch::data::samplers {
template <typename BatchRequest>
class DistributedSampler;
}
namespace torch::jit {
struct Module;
}
namespace torch::nn {
class AnyModule;
class Module;
}  // namespace torch::nn
namespace torch::optim {
class LRScheduler;
class Optimizer;
class ReduceLROnPlateauScheduler;
}  // namespace torch::optim

namespace accel {
template <typename Dataset, typename Sampler>
class DataLoader;
template <typename Batch>
class AnyLoader;
}  // namespace accel

namespace accel::runtime {

template <typename T>
inline constexpr bool accel_loader = false;
template <typename Dataset, typename Sampler>
inline constexpr bool accel_loader<DataLoader<Dataset, Sampler>> = true;
template <typename Batch>
inline constexpr bool accel_loader<AnyLoader<Batch>> = true;

// A loader whose sampler already divides the samples among the ranks.
template <typename T>
inline constexpr bool divided_loader = false;
template <typename Dataset, typename Sampler>
inline constexpr bool divided_loader<DataLoader<Dataset, Sampler>> =
    std::derived_from<Sampler, torch::data::samplers::DistributedSampler<std::vector<std::size_t>>>;

template <typename T>
inline constexpr bool torch_loader = false;
template <typename Dataset, typename Sampler>
inline constexpr bool
    torch_loader<std::unique_ptr<torch::data::StatelessDataLoader<Dataset, Sampler>>> = true;
template <typename Dataset>
inline constexpr bool torch_loader<std::unique_ptr<torch::data::StatefulDataLoader<Dataset>>> =
    true;

// Returns the module behind a holder made with TORCH_MODULE, or behind a shared_ptr.
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

// Returns the module of such a holder, or of a prepared model.
template <typename Holder>
std::shared_ptr<torch::nn::Module> any_module_of(const Holder& model) {
  if constexpr (requires { model.unwrap(); }) {
    return module_of(model.unwrap());
  } else {
    return module_of(model);
  }
}

// A smart pointer to an object of class `Base`, which a std::shared_ptr can take over.
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

// A module, optimizer or scheduler behind a pointer that does not share it.
template <typename T, typename Base>
inline constexpr bool unshared_pointer_to =
    std::is_pointer_v<T>&& std::derived_from<std::remove_pointer_t<T>, Base>;
template <typename T, typename Deleter, typename Base>
inline constexpr bool unshared_pointer_to<std::unique_ptr<T, Deleter>, Base> =
    std::same_as<Base, torch::nn::Module>&& std::derived_from<T, Base>;

// Throws std::invalid_argument for a pointer or a holder that holds nothing.
template <typename Pointer>
const Pointer& not_null(const Pointer& pointer) {
  if (!pointer) {
    throw std::invalid_argument(
        "prepare() was given a null pointer or an empty holder: make the module, optimizer or "
        "scheduler first");
  }
  return pointer;
}

// Rejects objects that prepare() would otherwise return unchanged, by readable compiler errors. The
// ranks would then train apart without an error. `T` is the type that prepare() deduces.
template <typename T>
constexpr void refuse_what_cannot_be_prepared() {
  using Object = std::remove_cvref_t<T>;
  static_assert(!std::derived_from<Object, torch::nn::Module>,
                "prepare() would train a copy of a module that is given by value: give it the "
                "holder that TORCH_MODULE makes, or a std::shared_ptr to the module");
  static_assert(!unshared_pointer_to<Object, torch::nn::Module>,
                "prepare() shares the module: give it a std::shared_ptr, or the holder that "
                "TORCH_MODULE makes");
  static_assert(!std::same_as<Object, torch::nn::AnyModule>,
                "an AnyModule hides how its module is called: give prepare() the module's holder");
  static_assert(
      !std::same_as<Object, torch::jit::Module>,
      "prepare() cannot prepare a TorchScript module: hold it in a torch::nn::Module that "
      "registers its parameters");
  static_assert(
      !unshared_pointer_to<Object, torch::optim::Optimizer>,
      "prepare() shares the optimizer: give it the optimizer itself, with std::move(), or "
      "a std::shared_ptr");
  static_assert(!unshared_pointer_to<Object, torch::optim::LRScheduler>,
                "prepare() shares the scheduler: give it the scheduler itself, or a "
                "std::shared_ptr");
  static_assert(!std::same_as<Object, torch::optim::ReduceLROnPlateauScheduler>,
                "prepare() cannot save the state of a ReduceLROnPlateauScheduler, so that a "
                "resumed run would differ: step it by yourself, without prepare()");
  static_assert(
      !(std::derived_from<Object, torch::optim::Optimizer> && std::is_lvalue_reference_v<T>),
      "an optimizer cannot be copied: prepare(std::move(optimizer))");
  static_assert(!torch_loader<Object>,
                "torch's loaders hide their dataset and sampler: make it with "
                "accel::make_data_loader()");
  static_assert(!divided_loader<Object>,
                "prepare() divides the samples among the ranks, and so does a DistributedSampler: "
                "give the loader a RandomSampler or a SequentialSampler");
}

}  // namespace accel::runtime
