#include "runtime/parallel/prepared_models.h"

#include <algorithm>

namespace accel::runtime {

void PreparedModels::add(const std::shared_ptr<ParallelStrategy>& model, const void* owner) {
  auto known = std::find_if(models_.begin(), models_.end(),
                            [&](const Prepared& one) { return one.living.lock() == model; });
  if (known == models_.end()) known = models_.insert(known, Prepared{model, {}, {}});
  known->owned = model;
  std::erase(known->owners, owner);
  known->owners.push_back(owner);
}

void PreparedModels::release(const void* owner) {
  for (Prepared& one : models_) {
    std::erase(one.owners, owner);
    if (one.owners.empty()) one.owned = nullptr;
  }
  forget_dead();
}

void PreparedModels::forget_dead() {
  for (Prepared& one : models_) {
    // References are counted instead of owners, because an Accelerator may be
    // destroyed without release().
    const bool is_held =
        one.owned != nullptr && (one.owned.use_count() > 1 || one.owned->module().use_count() > 1);
    if (!is_held) one.owned = nullptr;
  }
  std::erase_if(models_, [](const Prepared& one) { return one.living.expired(); });
}

std::vector<std::shared_ptr<ParallelStrategy>> PreparedModels::all() {
  forget_dead();
  std::vector<std::shared_ptr<ParallelStrategy>> models;
  for (const Prepared& one : models_) models.push_back(one.living.lock());
  return models;
}

std::shared_ptr<ParallelStrategy> PreparedModels::find(const torch::nn::Module& module) {
  for (auto& model : all()) {
    if (model->module().get() == &module) return model;
  }
  return nullptr;
}

}  // namespace accel::runtime
