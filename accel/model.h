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

// What a prepared model computes in, and where.
struct ForwardPrecision {
  c10::DeviceType device{};
  MixedPrecision precision = MixedPrecision::kNo;
};

// A prepared model: a holder of a module, called like the module itself; `->` reaches it. Copies
// are the same model. `Holder` is what prepare() was given: a TORCH_MODULE holder or a shared_ptr
// to a module.
//
// In mixed precision a call runs under autocast, and fp16 or bf16 tensors in what it returns, as
// accel/nested.h finds them, become fp32. `->forward()` is the module's own.
template <typename Holder>
class Model {
 public:
  // No model yet, for members that are assigned later. Throws std::logic_error where it is used.
  Model() : module_(nullptr) {}
  // `strategy` is null where nothing has to be kept consistent.
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

// The module alone, so that torch::save(model, file) and torch::load(model, file) work.
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
