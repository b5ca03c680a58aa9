#pragma once

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

#include "runtime/core/mixed_precision.h"
#include "runtime/nested.h"
#include "runtime/parallel/strategy.h"
#include "runtime/precision/autocast.h"

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
// runtime/nested.h finds them, become fp32. `->forward()` is the module's own.
template <typename Holder>
class Model {
 public:
  // `strategy` is null where nothing has to be kept consistent.
  Model(Holder module, std::shared_ptr<ParallelStrategy> strategy, ForwardPrecision precision = {})
      : module_(std::move(module)), strategy_(std::move(strategy)), precision_(precision) {}

  template <typename... Args>
  auto operator()(Args&&... args) {
    using Output = std::remove_cvref_t<decltype(module_->forward(std::forward<Args>(args)...))>;
    if (strategy_ != nullptr) strategy_->note_call();
    const auto forward = [&]() -> Output {
      const AutocastScope autocast(precision_.device, precision_.precision);
      return module_->forward(std::forward<Args>(args)...);
    };
    if constexpr (std::copy_constructible<Output>) {
      if (precision_.precision != MixedPrecision::kNo) {
        return nested_internal::map_any(forward(), to_fp32);
      }
    }
    return forward();
  }

  auto* operator->() { return &*module_; }
  const auto* operator->() const { return &*module_; }
  auto& operator*() { return *module_; }
  const auto& operator*() const { return *module_; }
  const Holder& unwrap() const { return module_; }
  const std::shared_ptr<ParallelStrategy>& strategy() const { return strategy_; }

 private:
  Holder module_;
  std::shared_ptr<ParallelStrategy> strategy_;
  ForwardPrecision precision_;
};

}  // namespace accel
