#include "runtime/optim/gradient_origin.h"

#include <algorithm>
#include <iostream>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>

#include "runtime/optim/libtorch.h"

namespace accel::runtime {
namespace {

using torch::autograd::variable_list;

// Calls a function whenever a gradient has been accumulated in a parameter.
class ArrivalHook : public torch::autograd::FunctionPostHook {
 public:
  explicit ArrivalHook(std::function<void()> call) : call_(std::move(call)) {}
  variable_list operator()(const variable_list& outputs, const variable_list& /*inputs*/) override {
    call_();
    return outputs;
  }

 private:
  const std::function<void()> call_;
};

// Calls `body` for each parameter of the optimizer, with the parameter, its index among all, the
// index of its group, and its index in the group.
template <typename Body>
void for_each_parameter(const torch::optim::Optimizer& optimizer, const Body& body) {
  std::size_t place = 0, group = 0;
  for (const auto& one : optimizer.param_groups()) {
    for (std::size_t i = 0; i < one.params().size(); ++i) {
      body(one.params()[i], place++, group, i);
    }
    ++group;
  }
}

bool is_zero(const at::Tensor& gradient) {
  if (!gradient.defined()) return true;
  const at::Tensor values = gradient.is_sparse() ? gradient._values() : gradient;
  return values.detach().count_nonzero().item<std::int64_t>() == 0;
}

}  // namespace

void OptimizerGradients::Gradient::mark() {
  GradientOrigin now = registry->arriving;
  if (now == GradientOrigin::kPlain && !scales_losses) {
    // In no_sync() and LocalSgd, the program may step on its own gradients, as backward() leaves
    // them too. In a window of accumulation they would lack the division by its batches.
    if (may_train_apart()) now = GradientOrigin::kOwn;
  }
  if (now > origin) origin = now;
}

bool OptimizerGradients::Gradient::is_loose() const {
  return std::all_of(models.begin(), models.end(), [](const auto& one) { return one.expired(); });
}

bool OptimizerGradients::Gradient::may_train_apart() const {
  return std::any_of(models.begin(), models.end(), [](const auto& one) {
    const auto model = one.lock();
    return model != nullptr && model->keeps_gradients_local() && model->may_train_apart();
  });
}

bool OptimizerGradients::Gradient::keeps_gradients_local() const {
  return std::any_of(models.begin(), models.end(), [](const auto& one) {
    const auto model = one.lock();
    return model != nullptr && model->keeps_gradients_local();
  });
}

OptimizerGradients::OptimizerGradients(const std::shared_ptr<torch::optim::Optimizer>& optimizer,
                                       std::shared_ptr<GradientRegistry> registry, World world)
    : optimizer_(optimizer), registry_(std::move(registry)), world_(std::move(world)) {
  follow_parameters();
}

OptimizerGradients::~OptimizerGradients() {
  for (const Watched& one : watched_) {
    if (one.accumulator != nullptr) one.accumulator->del_post_hook(one.hook);
  }
}

// Called before each pass, because a program may add, freeze and unfreeze parameters, and because
// torch::load() and casts give parameters other nodes.
void OptimizerGradients::follow_parameters() {
  const auto optimizer = optimizer_.lock();
  if (optimizer == nullptr) return;
  for_each_parameter(*optimizer, [&](const at::Tensor& parameter, std::size_t place, auto, auto) {
    if (place == watched_.size()) {
      known_models_.clear();
      Watched& added = watched_.emplace_back();
      added.gradient = std::make_shared<Gradient>();
      added.gradient->registry = registry_;
      added.gradient->scales_losses = world_.scales_losses;
    }
    Watched& one = watched_[place];
    auto accumulator =
        parameter.requires_grad() ? torch::autograd::impl::grad_accumulator(parameter) : nullptr;
    if (accumulator == one.accumulator) return;
    if (one.accumulator != nullptr) one.accumulator->del_post_hook(one.hook);
    one.accumulator = std::move(accumulator);
    if (one.accumulator == nullptr) return;
    one.hook = one.accumulator->add_post_hook(
        std::make_unique<ArrivalHook>([gradient = one.gradient] { gradient->mark(); }));
  });
  if (world_.is_alone) return;
  std::vector<const ParallelStrategy*> models;
  for (const auto& model : world_.models()) models.push_back(model.get());
  if (models != known_models_) find_models();
}

void OptimizerGradients::find_models() {
  known_models_.clear();
  std::unordered_map<const void*, std::vector<std::weak_ptr<ParallelStrategy>>> models_of;
  for (const auto& model : world_.models()) {
    known_models_.push_back(model.get());
    for (const at::Tensor& parameter : model->module()->parameters()) {
      models_of[parameter.unsafeGetTensorImpl()].push_back(model);
    }
  }
  const auto optimizer = optimizer_.lock();
  if (optimizer == nullptr) return;
  for_each_parameter(*optimizer, [&](const at::Tensor& parameter, std::size_t place, auto, auto) {
    if (place >= watched_.size()) return;
    const auto found = models_of.find(parameter.unsafeGetTensorImpl());
    auto& models = watched_[place].gradient->models;
    models.clear();
    if (found != models_of.end()) models = found->second;
  });
}

// A gradient of loss.backward() is harmless once it is zero, no matter what zeroed it. A look at
// its values waits for the device. So for a harmless origin, this only checks that the gradient is
// defined, which does not wait.
void OptimizerGradients::forget_zeroed() {
  const auto optimizer = optimizer_.lock();
  if (optimizer == nullptr) return;
  for_each_parameter(*optimizer, [&](const at::Tensor& parameter, std::size_t place, auto, auto) {
    if (place >= watched_.size()) return;
    std::atomic<GradientOrigin>& origin = watched_[place].gradient->origin;
    if (origin == GradientOrigin::kReduced) return;
    const bool is_gone = origin >= GradientOrigin::kRunning ? is_zero(parameter.grad())
                                                            : !parameter.grad().defined();
    if (is_gone) origin = GradientOrigin::kReduced;
  });
}

void OptimizerGradients::begin_pass() {
  follow_parameters();
  forget_zeroed();
  for (const Watched& one : watched_) {
    if (one.gradient->origin == GradientOrigin::kRunning) {
      one.gradient->origin = GradientOrigin::kFailed;
    }
  }
}

void OptimizerGradients::end_pass(const std::vector<std::shared_ptr<ParallelStrategy>>& reduced,
                                  bool divides_loss) {
  for (const Watched& one : watched_) {
    Gradient& gradient = *one.gradient;
    const GradientOrigin origin = gradient.origin;
    if (origin == GradientOrigin::kReduced || origin == GradientOrigin::kFailed) continue;
    // The gradient lacks the loss scale or the division, and reducing it does not change that.
    const bool is_incomplete = world_.scales_losses || (divides_loss && !world_.is_alone);
    if (origin == GradientOrigin::kPlain && is_incomplete) continue;
    const bool is_mean =
        world_.is_alone ||
        std::any_of(gradient.models.begin(), gradient.models.end(), [&](const auto& model) {
          return std::find(reduced.begin(), reduced.end(), model.lock()) != reduced.end();
        });
    if (is_mean) {
      gradient.origin = GradientOrigin::kReduced;
    } else if (origin == GradientOrigin::kRunning) {
      gradient.origin = GradientOrigin::kOwn;
    }
  }
}

void OptimizerGradients::zeroed() {
  follow_parameters();
  for (const Watched& one : watched_) one.gradient->origin = GradientOrigin::kReduced;
  const auto optimizer = optimizer_.lock();
  if (optimizer == nullptr || !are_shards()) return;
  std::set<const void*> parameters;
  for_each_parameter(*optimizer, [&](const at::Tensor& parameter, auto, auto, auto) {
    parameters.insert(parameter.unsafeGetTensorImpl());
  });
  for (const auto& model : world_.models()) model->drop_kept_gradients(parameters);
}

bool OptimizerGradients::are_reduced() const {
  return std::all_of(watched_.begin(), watched_.end(), [](const Watched& one) {
    return one.gradient->origin == GradientOrigin::kReduced;
  });
}

bool OptimizerGradients::are_shards() const {
  if (world_.is_alone) return false;
  const auto models = world_.models();
  return std::any_of(models.begin(), models.end(),
                     [](const auto& model) { return model->is_sharded(); });
}

std::shared_ptr<void> OptimizerGradients::begin_step() const {
  if (world_.is_alone) return nullptr;
  std::vector<std::shared_ptr<void>> begun;
  for (const auto& model : world_.models()) {
    if (auto one = model->begin_step()) begun.push_back(std::move(one));
  }
  if (begun.empty()) return nullptr;
  return std::make_shared<std::vector<std::shared_ptr<void>>>(std::move(begun));
}

void OptimizerGradients::expect_ready(bool forced) {
  if (!world_.is_alone && (!has_stepped_ || has_loose_gradients())) {
    // The models are looked up now, because by its first step a program has prepared
    // all its models.
    find_models();
    look_for_loose_parameters();
  }
  has_stepped_ = true;
  if (are_reduced()) return;
  forget_zeroed();
  for (const Watched& one : watched_) {
    const GradientOrigin origin = one.gradient->origin;
    const Gradient& gradient = *one.gradient;
    if (origin == GradientOrigin::kPlain && (!gradient.is_loose() || world_.scales_losses)) {
      throw std::logic_error(
          std::string("step() would use gradients of loss.backward(), which ") +
          (world_.scales_losses ? "does not scale the loss, as mixed_precision fp16 has it"
                                : "lack the mean over all processes, or the division by the "
                                  "batches of a window of accumulate()") +
          ": call accelerator.backward(loss) instead of loss.backward(); if they were meant for "
          "something else, call zero_grad() before the backward pass of this step");
    }
    if (origin == GradientOrigin::kRunning || origin == GradientOrigin::kFailed) {
      throw std::logic_error(
          "step() would use gradients of a backward pass that has failed: call zero_grad() and "
          "make the pass again, or leave this step out");
    }
    if (forced && origin == GradientOrigin::kOwn && !gradient.is_loose() &&
        !gradient.keeps_gradients_local()) {
      throw std::logic_error(
          "step() would use gradients that are this process's own, because this batch was not to "
          "end a window of accumulate(): call set_sync_gradients(true) before backward(), which "
          "then reduces them");
    }
  }
}

bool OptimizerGradients::has_loose_gradients() const {
  return std::any_of(watched_.begin(), watched_.end(), [](const Watched& one) {
    return one.gradient->origin == GradientOrigin::kOwn && one.gradient->is_loose();
  });
}

void OptimizerGradients::look_for_loose_parameters() {
  const auto optimizer = optimizer_.lock();
  if (optimizer == nullptr) return;
  std::ostringstream first;
  std::size_t loose = 0, trained = 0;
  for_each_parameter(*optimizer, [&](const at::Tensor& parameter, std::size_t place,
                                     std::size_t group, std::size_t index) {
    if (!parameter.requires_grad() || place >= watched_.size()) return;
    ++trained;
    if (!watched_[place].gradient->is_loose() || ++loose > 1) return;
    first << "parameter " << index << " of group " << group << ", of shape " << parameter.sizes();
    if (!parameter.name().empty()) first << ", '" << parameter.name() << "'";
  });
  if (loose == 0) return;
  std::ostringstream text;
  if (loose == trained) {
    text << "an optimizer steps, none of whose parameters is in a prepared model (" << first.str()
         << ")";
  } else {
    text << first.str();
    if (loose > 1) text << ", and " << loose - 1 << " more";
    text << (loose == 1 ? " is" : " are") << " of a prepared optimizer, but in no prepared model";
  }
  constexpr char kRemedy[] = "give prepare() a module that has them";
  if (are_shards()) {
    throw std::logic_error(
        text.str() +
        ": with sharding, each process steps on its part of the prepared models only; " + kRemedy);
  }
  if (world_.scales_losses && loose < trained) {
    throw std::logic_error(
        text.str() + ": in fp16 an overflow there would skip the step of one process alone; " +
        kRemedy);
  }
  if (has_stepped_ || !world_.is_main) return;
  std::cerr << "accel: " + text.str() +
                   ": backward() does not reduce the gradients, and the processes train apart "
                   "unless the program reduces them itself; " +
                   kRemedy + "\n"
            << std::flush;
}

BackwardPassScope::BackwardPassScope(std::shared_ptr<GradientRegistry> registry,
                                     GradientOrigin arriving)
    : registry_(std::move(registry)) {
  std::erase_if(registry_->optimizers, [](const auto& optimizer) { return optimizer.expired(); });
  if (arriving == GradientOrigin::kRunning) {
    for (const auto& optimizer : registry_->optimizers) optimizer.lock()->begin_pass();
  }
  registry_->arriving = arriving;
}

BackwardPassScope::~BackwardPassScope() { registry_->arriving = GradientOrigin::kPlain; }

void BackwardPassScope::end(const std::vector<std::shared_ptr<ParallelStrategy>>& reduced,
                            bool divides_loss) {
  for (const auto& living : registry_->optimizers) {
    if (const auto optimizer = living.lock()) optimizer->end_pass(reduced, divides_loss);
  }
}

}  // namespace accel::runtime
