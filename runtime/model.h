#pragma once

#include <memory>
#include <utility>

#include "runtime/parallel/strategy.h"

namespace accel {

// A prepared model: a holder of a module, called like the module itself; `->` reaches it. Copies
// are the same model. `Holder` is what prepare() was given: a TORCH_MODULE holder or a shared_ptr
// to a module.
template <typename Holder>
class Model {
 public:
  // `strategy` is null where nothing has to be kept consistent.
  Model(Holder module, std::shared_ptr<ParallelStrategy> strategy)
      : module_(std::move(module)), strategy_(std::move(strategy)) {}

  template <typename... Args>
  auto operator()(Args&&... args) {
    return module_->forward(std::forward<Args>(args)...);
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
};

}  // namespace accel
