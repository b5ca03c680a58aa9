// Sharded training of one model: each rank holds one part of every parameter, of its gradient and
// of the optimizer's state for it (docs/decisions/0063).
//
// The problem. A layer needs its whole parameters while it computes, and LibTorch's modules have no
// hooks that report when this is. A program may also call layers directly, in any order.
//
// The approach. A unit has one flat buffer for each dtype, and separate ones for frozen parameters.
// Its parameters are views of these buffers, which have no memory most of the time. An operator
// that reads a parameter is intercepted (parameter_reads.h), in the forward pass and in the
// backward pass alike, and the unit is gathered. UnitSchedule decides which units are gathered,
// reduced and freed. ShardedUnit has their memory.
//
// clang-format off
//   forward    an operator reads a weight ─▶ before_read() ─▶ free the units that do not contain
//              this unit, unless they are kept, and gather this unit
//   backward   the same, but a unit that is freed is first reduced, by a reduce-scatter
//              a gradient has been added up ─▶ arrived() ─▶ move it to the buffer of gradients
//   step       begin_step(): parameters become this rank's pieces, and an optimizer steps on them
// clang-format on
//
// Parameters of ignored modules are in no unit (ignored_parameters.h).
//
// Between steps a parameter has its whole shape, so the program sees the model that it has
// made, and autograd's nodes remain valid. The gradient of the parameter is this rank's piece
// of the mean, flattened.
//
// Every rank makes the same collectives as long as it uses the same units in the same order. A rank
// that does not is found in two ways. Calls of different kinds or sizes fail in the communicator,
// which names the units. If the calls happen to fit, a digest at the end of the pass differs.
#include "runtime/parallel/sharded_model.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "runtime/core/sharding/sharding_report.h"
#include "runtime/core/sharding/unit_trace.h"
#include "runtime/parallel/initial_values.h"
#include "runtime/parallel/libtorch.h"
#include "runtime/parallel/reported_units.h"
#include "runtime/recompute/recomputed_call.h"

namespace accel::runtime {

class ShardedModel::Listener final : public ReadListener {
 public:
  Listener(ShardedModel& model, int unit) : model_(model), unit_(unit) {}
  void before_read() override { model_.before_read(unit_, /*is_joint=*/false); }
  void before_joint_read() override { model_.before_read(unit_, /*is_joint=*/true); }
  void refuse_write(const std::string& op) override {
    throw std::logic_error(op + " would write to a parameter of " +
                           model_.units_[static_cast<std::size_t>(unit_)].name() +
                           ", which is sharded, so the change would be lost: change parameters "
                           "before prepare(), load them with load_checkpoint_in_model(), or step "
                           "with an optimizer that prepare() returned");
  }

 private:
  ShardedModel& model_;
  const int unit_;
};

ShardedModel::ShardedModel(std::shared_ptr<torch::nn::Module> module, ShardingGroups groups,
                           const ShardingOptions& options, RecordedTensors recorded)
    : tensors_(std::move(module)),
      recorded_(std::move(recorded)),
      groups_(std::move(groups)),
      options_(options),
      expects_recomputing_(options.activation_checkpointing) {}

ShardedModel::~ShardedModel() = default;

void ShardedModel::prepare(const DataParallelOptions& options) {
  broadcasts_buffers_ = options.broadcast_buffers;
  tensors_.follow();
  std::string lines;
  for (const std::string& line : tensors_.describe(/*with_checksums=*/false)) lines += line + '\n';
  const std::vector<std::string> all = groups_.world->all_gather_bytes(lines);
  if (!std::equal(all.begin() + 1, all.end(), all.begin())) {
    throw std::invalid_argument("prepare: the ranks' models, " + module()->name() + ", differ");
  }
  if (units().empty()) divide();
  hook_gradients();
  without_values_.merge(give_whole_values(tensors_.buffers(), *groups_.world));
  give_recorded_values(std::exchange(recorded_, {}), without_values_, units(), *groups_.world);
}

void ShardedModel::divide() {
  auto [units, ignored] = divided(*module(), options_);
  std::vector<int> parents;
  std::vector<bool> reshards;
  for (const ModelUnit& unit : units) {
    parents.push_back(unit.parent);
    reshards.push_back(unit.reshard_after_forward);
  }
  schedule_ = std::make_unique<UnitSchedule>(
      parents, UnitScheduleOptions{.reshard_after_forward = reshards,
                                   .backward_prefetch = options_.backward_prefetch,
                                   .forward_prefetch = options_.forward_prefetch});
  for (ModelUnit& unit : units) {
    without_values_.merge(give_values(tensors_of(unit.parameters), *groups_.world));
    listeners_.push_back(std::make_unique<Listener>(*this, static_cast<int>(units_.size())));
    hooks_.emplace_back();
    for (std::size_t i = 0; i < unit.parameters.size(); ++i) {
      hooks_.back().push_back(
          std::make_unique<GradientHook>([this, place = units_.size(), i] { arrived(place, i); }));
    }
    has_gradient_.emplace_back(unit.parameters.size());
    units_.add(std::make_unique<ShardedUnit>(
        unit.name, std::move(unit.parameters), groups_, listeners_.back().get(),
        UnitOptions{options_.gather_dtype, options_.offload_params}));
  }
  without_values_.merge(give_whole_values(tensors_of(ignored), *groups_.world));
  has_gradient_.emplace_back(ignored.size());
  ignored_ = IgnoredParameters(std::move(ignored));
}

std::vector<const void*> ShardedModel::sharded() const {
  std::vector<const void*> all;
  for (const auto& unit : units()) {
    for (std::size_t i = 0; i < unit->size(); ++i) {
      all.push_back(unit->parameter(i).tensor.unsafeGetTensorImpl());
    }
  }
  return all;
}

// A program may freeze and unfreeze parameters between passes.
void ShardedModel::follow_changes() {
  const ModelChange change = tensors_.follow();
  if (change == ModelChange::kReplaced) {
    throw std::logic_error("backward: parameters or buffers of " + module()->name() +
                           " have been cast, moved, added or removed since prepare(), which is not "
                           "possible with sharding: do so before prepare()");
  }
  if (change != ModelChange::kNone) hook_gradients();
}

void ShardedModel::hook_gradients() {
  for (std::size_t unit = 0; unit < units_.size(); ++unit) {
    for (std::size_t i = 0; i < units_[unit].size(); ++i) {
      hooks_[unit][i]->follow(units_[unit].parameter(i).tensor);
    }
  }
}

bool ShardedModel::is_reached_from(const at::Tensor& loss) const {
  return tensors_.is_reached_from(loss);
}

std::vector<const void*> ShardedModel::trained() const {
  std::vector<const void*> nodes;
  for (const TrainedParameter& one : tensors_.trained()) nodes.push_back(one.accumulator.get());
  return nodes;
}

void ShardedModel::set_shares_parameters(bool shares) {
  if (!shares) return;
  throw std::invalid_argument(
      module()->name() +
      " has a parameter in common with another prepared model, which cannot be together with "
      "sharding: prepare one module that has both as its parts");
}

void ShardedModel::perform(const UnitActions& actions) {
  units_.perform(actions, /*keeps_gradients=*/is_local_);
}

void ShardedModel::expect_values() const {
  if (has_values()) return;
  throw std::logic_error(module()->name() +
                         " was built without memory, and parameters or buffers of it have no "
                         "values yet: load them with load_checkpoint_in_model(), load_state() or "
                         "resume_from_newest()");
}

void ShardedModel::expect_savable() const {
  expect_values();
  if (!has_local_gradients_) return;
  throw std::logic_error(
      "save_state() would leave out gradients that no_sync() has kept on this process: save after "
      "a backward pass outside of no_sync()");
}

void ShardedModel::before_read(int unit, bool is_joint) {
  expect_values();
  if (is_joint) {
    if (schedule_->is_gathered(unit)) return;
    perform(schedule_->touch_also(unit));
  } else if (!schedule_->is_current(unit)) {
    perform(schedule_->touch(unit));
  }
}

void ShardedModel::arrived(std::size_t unit, std::size_t parameter) {
  if (!schedule_->is_backward()) return;  // Of loss.backward(), which step() rejects.
  perform(schedule_->arrive(static_cast<int>(unit)));
  units_[unit].gradients().add(parameter);
  has_gradient_[unit][parameter] = true;
}

// Reads of ignored parameters are not reported, so before_read() may not have been called.
void ShardedModel::before_backward(const at::Tensor& /*loss*/) {
  expect_values();
  is_local_ = scopes(GradientSync::kOff) > 0 && scopes(GradientSync::kForced) == 0;
  recomputed_before_ = recomputed_calls();
  for (const auto& unit : units()) unit->gradients().take_means();
  ignored_.take_means();
  schedule_->begin_backward();
}

void ShardedModel::after_backward(const at::Tensor& /*loss*/) {
  perform(schedule_->end_backward());
  has_recomputed_ = has_recomputed_ || recomputed_calls() != recomputed_before_;
  has_local_gradients_ = is_local_;
  ignored_.keep_gradients();
  if (!is_local_) {
    units_.reduce_kept();  // Those that no_sync() left, of units without new ones.
    has_gradient_.back() = ignored_.has_gradients();
    agree_on_gradients();
    ignored_.reduce(has_gradient_.back(), *groups_.world);
  }
  ignored_.give_means();
  for (std::size_t unit = 0; unit < units_.size(); ++unit) {
    std::vector<bool> has_mean =
        is_local_ ? std::vector<bool>(units_[unit].size()) : std::exchange(has_gradient_[unit], {});
    units_[unit].gradients().give_means(has_mean);
    if (!is_local_) has_gradient_[unit].resize(units_[unit].size());
  }
  if (broadcasts_buffers_ && module()->is_training() && !tensors_.buffers().empty()) {
    std::vector<at::Tensor> memory;
    for (const at::Tensor& buffer : tensors_.buffers()) memory.push_back(buffer.variable_data());
    groups_.world->broadcast(memory);
  }
}

// One all-reduce of a few bytes.
void ShardedModel::agree_on_gradients() {
  const std::vector<std::int64_t> mine =
      pass_numbers(units_.trace().digest(), has_recomputed_, has_gradient_);
  const at::Tensor numbers = at::empty({static_cast<std::int64_t>(mine.size())}, at::kLong);
  auto* const number = numbers.mutable_data_ptr<std::int64_t>();
  std::ranges::copy(mine, number);
  groups_.world->all_reduce_max(numbers);
  AgreedPass pass = agreed_pass({number, mine.size()}, has_gradient_);
  if (!pass.has_equal_traces) {
    throw std::runtime_error(
        "backward: the ranks have used different units of " + module()->name() + ": " +
        difference_between(groups_.world->all_gather_bytes(units_.trace().bytes())) +
        ". All ranks must make the same forward and backward passes");
  }
  if (std::exchange(expects_recomputing_, false) && !pass.has_recomputed) {
    throw std::runtime_error(
        "backward: sharding.activation_checkpointing is set, but " + module()->name() +
        " keeps all activations, because modules of LibTorch have no hooks to change that: let its "
        "forward() call the parts with accel::checkpoint() (accel/activation_checkpointing.h), or "
        "unset the option");
  }
  has_gradient_ = std::move(pass.has_gradient);
}

void ShardedModel::cancel_backward() {
  free_all();
  for (std::size_t unit = 0; unit < units_.size(); ++unit) {
    units_[unit].gradients().drop_all();
    has_gradient_[unit].assign(units_[unit].size(), false);
  }
  ignored_.drop_gradients();
  has_local_gradients_ = false;
}

// Between passes, neither the optimizer nor the program sees the kept gradients.
void ShardedModel::drop_kept_gradients(const std::set<const void*>& parameters) {
  if (!has_local_gradients_) return;
  const auto is_zeroed = [&](const UnitParameter& one) {
    return parameters.contains(one.tensor.unsafeGetTensorImpl());
  };
  for (std::size_t unit = 0; unit < units_.size(); ++unit) {
    for (std::size_t i = 0; i < units_[unit].size(); ++i) {
      if (!is_zeroed(units_[unit].parameter(i))) continue;
      units_[unit].gradients().drop(i);
      has_gradient_[unit][i] = false;
    }
  }
  for (std::size_t i = 0; i < ignored_.all().size(); ++i) {
    if (is_zeroed(ignored_.all()[i])) ignored_.drop_gradient(i);
  }
  const auto kept = ignored_.has_gradients();
  has_local_gradients_ = std::ranges::find(kept, true) != kept.end() ||
                         std::ranges::any_of(units(), [](const auto& unit) {
                           return unit->gradients().has_unreduced();
                         });
}

std::string ShardedModel::sharding_report() const {
  ShardingOutline outline = outline_of(options_, groups_, units(), ignored_.all());
  for (std::size_t i = 0; i < units_.size(); ++i) {
    outline.units[i].reshard_after_forward = schedule_->reshards(static_cast<int>(i));
  }
  return sharding_text(outline);
}

void ShardedModel::free_all() { perform(schedule_->free_all()); }

std::shared_ptr<void> ShardedModel::begin_whole(bool is_written) {
  if (uses_whole_) throw std::logic_error("a sharded model is already gathered as a whole");
  if (!is_written) expect_values();
  free_all();
  units_.begin_whole();
  uses_whole_ = true;
  return {this, [is_written](ShardedModel* model) {
            model->units_.end_whole(is_written);
            model->uses_whole_ = false;
          }};
}

std::shared_ptr<void> ShardedModel::begin_step() {
  if (has_local_gradients_) {
    throw std::logic_error(
        "step() would leave out gradients that no_sync() has kept on this process, because each "
        "process steps on its part of a sharded model only: make the last backward pass before "
        "the step outside of no_sync()");
  }
  free_all();
  for (const auto& unit : units()) unit->begin_step();
  return {this, [](ShardedModel* model) {
            for (const auto& unit : model->units()) unit->end_step();
          }};
}

}  // namespace accel::runtime
