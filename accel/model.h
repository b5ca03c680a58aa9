// The type of a prepared model. Programs get it from Accelerator::prepare().
#pragma once

#include <concepts>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "accel/nested.h"
#include "accel/options.h"
#include "runtime/parallel/strategy.h"
#include "runtime/precision/autocast.h"

namespace torch::serialize {
class InputArchive;
class OutputArchive;
}  // namespace torch::serialize

namespace accel {

// The device and precision that a prepared model computes in.
struct ForwardPrecision {
  c10::DeviceType device{};
  MixedPrecision precision = MixedPrecision::kNo;
};

// A prepared model: a holder of a module. It is called like the module, and `->` gives access to
// the module's members. Copies are the same model. `Holder` is the type that prepare() was given: a
// TORCH_MODULE holder or a shared_ptr to a module. Not thread-safe.
//
// In mixed precision, `model(x)` runs under autocast and converts fp16 and bf16 tensors in the
// result (see accel/nested.h) to fp32. `model->forward(x)` does neither.
template <typename Holder>
class Model {
 public:
  // Makes a holder without a module, for members that are assigned later. Calls, `->` and
  // `*` throw std::logic_error.
  Model() : module_(nullptr) {}
  // Called by Accelerator::prepare(). `strategy` is null for one process and in evaluation mode.
  Model(Holder module, std::shared_ptr<runtime::ParallelStrategy> strategy,
        ForwardPrecision precision = {})
      : module_(std::move(module)), strategy_(std::move(strategy)), precision_(precision) {}

  template <typename... Args>
  auto operator()(Args&&... args) {
    using Output = std::remove_cvref_t<decltype(module_->forward(std::forward<Args>(args)...))>;
    if (strategy_ != nullptr) strategy_->note_call();
    const auto forward = [&, this]() -> Output {
      const runtime::AutocastScope autocast(precision_.device, precision_.precision);
      return module().forward(std::forward<Args>(args)...);
    };
    if constexpr (std::copy_constructible<Output>) {
      if (precision_.precision != MixedPrecision::kNo) {
        return map_tensors(forward(), runtime::to_fp32);
      }
    }
    return forward();
  }

  auto* operator->() { return &module(); }
  const auto* operator->() const { return &module(); }
  auto& operator*() { return module(); }
  const auto& operator*() const { return module(); }
  const Holder& unwrap() const { return module_; }
  const std::shared_ptr<runtime::ParallelStrategy>& strategy() const { return strategy_; }

 private:
  auto& module() const {
    if (!module_) {
      throw std::logic_error("this model is empty: assign what prepare() returns first");
    }
    if constexpr (requires { module_.ptr(); }) {
      return *module_.ptr();
    } else {
      return *module_;
    }
  }

  Holder module_;
  std::shared_ptr<runtime::ParallelStrategy> strategy_;
  ForwardPrecision precision_;
};

// Archives hold the module alone. They make torch::save(model, file) and
// torch::load(model, file) work.
template <typename Holder>
torch::serialize::OutputArchive& operator<<(torch::serialize::OutputArchive& archive,
                                            const Model<Holder>& model) {
  return archive << model.unwrap();
}
template <typename Holder>
torch::serialize::InputArchive& operator>>(torch::serialize::InputArchive& archive,
                                           Model<Holder>& model) {
  Holder module = model.unwrap();
  return archive >> module;
}

}  // namespace accel
