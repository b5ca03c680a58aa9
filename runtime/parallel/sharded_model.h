// Sharded training, the ParallelStrategy of models whose parameters, gradients and optimizer state
// are spread over the ranks.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "runtime/core/sharding/pass_agreement.h"
#include "runtime/core/sharding/unit_schedule.h"
#include "runtime/parallel/gradient_hook.h"
#include "runtime/parallel/ignored_parameters.h"
#include "runtime/parallel/model_tensors.h"
#include "runtime/parallel/model_units.h"
#include "runtime/parallel/sharded_unit.h"
#include "runtime/parallel/strategy.h"
#include "runtime/parallel/traced_units.h"
#include "runtime/parallel/unit_layout.h"
#include "runtime/recording/recorded_tensors.h"

namespace accel::runtime {

// The strategy of one sharded model. It keeps this rank's part of the model, and gathers units
// while operators use them. The head of sharded_model.cc explains how. Not thread-safe, except that
// backward passes may run on LibTorch's own threads.
class ShardedModel final : public ParallelStrategy {
 public:
  ShardedModel(std::shared_ptr<torch::nn::Module> module, ShardingGroups groups,
               const ShardingOptions& options, RecordedTensors recorded);
  ~ShardedModel() override;

  const std::shared_ptr<torch::nn::Module>& module() const override { return tensors_.module(); }
  void prepare(const DataParallelOptions& options) override;
  void follow_changes() override;
  bool is_reached_from(const at::Tensor& loss) const override;
  std::vector<const void*> trained() const override;
  void set_shares_parameters(bool shares) override;
  void note_call() override { expect_values(); }
  at::Tensor zero_loss() override { return {}; }
  void agree_on_changes() override {}
  void before_backward(const at::Tensor& loss) override;
  void after_backward(const at::Tensor& loss) override;
  void cancel_backward() override;
  bool is_sharded() const override { return true; }
  std::string sharding_report() const override;
  Communicator* shard_group() const override { return groups_.shard.get(); }
  std::vector<const void*> sharded() const override;
  std::shared_ptr<void> begin_whole(bool is_written) override;
  std::shared_ptr<void> begin_step() override;
  void drop_kept_gradients(const std::set<const void*>& parameters) override;

  // Return true if all tensors, or this tensor, have values. A model that was built without memory
  // has none until they are loaded.
  bool has_values() const { return without_values_.empty(); }
  bool has_value(const at::Tensor& tensor) const {
    return !without_values_.contains(tensor.unsafeGetTensorImpl());
  }
  void note_values() { without_values_.clear(); }
  // Throws std::logic_error if there are no values yet.
  void expect_values() const;
  // Throws std::logic_error if a checkpoint would lack a part of the state: there are no values
  // yet, or no_sync() keeps gradients here.
  void expect_savable() const;

  // Frees all units, because their parameters are about to change.
  void free_all();
  const std::vector<std::unique_ptr<ShardedUnit>>& units() const { return units_.all(); }
  // The parameters that are in no unit, and whole on each rank.
  const std::vector<UnitParameter>& ignored() const { return ignored_.all(); }
  const ShardingGroups& groups() const { return groups_; }
  const ShardingOptions& options() const { return options_; }

 private:
  class Listener;
  void divide();
  void hook_gradients();
  void before_read(int unit, bool is_joint);
  void arrived(std::size_t unit, std::size_t parameter);
  void perform(const UnitActions& actions);
  // Agrees with the other ranks on which parameters have gradients, and that all have used
  // the same units.
  void agree_on_gradients();

  ModelTensors tensors_;
  RecordedTensors recorded_;  // Empty after prepare().
  const ShardingGroups groups_;
  const ShardingOptions options_;
  bool broadcasts_buffers_ = true;
  // Declared before the units, which are destroyed first.
  std::vector<std::unique_ptr<Listener>> listeners_;
  TracedUnits units_;
  IgnoredParameters ignored_;
  std::unique_ptr<UnitSchedule> schedule_;
  // By unit and parameter. Declared after the units, so that hooks end before their parameters.
  std::vector<std::vector<std::unique_ptr<GradientHook>>> hooks_;
  // The gradients that have arrived since gradients were last reduced. The last place is that of
  // the ignored parameters.
  ArrivedGradients has_gradient_;
  // The identities of parameters and buffers without values. They remain the same objects.
  std::set<const void*> without_values_;
  bool uses_whole_ = false;              // True while a result of begin_whole() lives.
  bool is_local_ = false;                // True if this pass is inside of no_sync().
  bool has_local_gradients_ = false;     // True if no_sync() has left unreduced gradients.
  std::uint64_t recomputed_before_ = 0;  // recomputed_calls() before this pass.
  bool has_recomputed_ = false;          // True if a pass over this model has recomputed a call.
  bool expects_recomputing_;             // True until the first pass of all ranks was checked.
};

}  // namespace accel::runtime
