// Sharded training, the ParallelStrategy of models whose parameters, gradients and optimizer state
// are spread over the ranks.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "runtime/core/sharding/unit_schedule.h"
#include "runtime/core/sharding/unit_trace.h"
#include "runtime/parallel/ignored_parameters.h"
#include "runtime/parallel/model_tensors.h"
#include "runtime/parallel/model_units.h"
#include "runtime/parallel/sharded_unit.h"
#include "runtime/parallel/strategy.h"
#include "runtime/recording/recorded_tensors.h"

namespace accel::runtime {

// Keeps this rank's part of a model, and gathers units of it while operators use them. The head of
// sharded_model.cc explains how. Not thread-safe, except that backward passes may run on LibTorch's
// own threads.
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

  // Return false until values are loaded: of any parameter, or of this one, that was built without
  // memory.
  bool has_values() const { return without_values_.empty(); }
  bool has_value(const at::Tensor& tensor) const {
    return !without_values_.contains(tensor.unsafeGetTensorImpl());
  }
  void note_values() { without_values_.clear(); }
  // Throws std::logic_error if there are no values yet.
  void expect_values() const;
  // Throws std::logic_error if a checkpoint would lack a part of the state: if there are no values
  // yet, or gradients that no_sync() keeps in this process.
  void expect_savable() const;

  // Frees all units: their parameters are about to change.
  void free_all();
  const std::vector<std::unique_ptr<ShardedUnit>>& units() const { return units_; }
  // The parameters that are in no unit, and whole on each rank.
  const std::vector<UnitParameter>& ignored() const { return ignored_.all(); }
  const ShardingGroups& groups() const { return groups_; }
  const ShardingOptions& options() const { return options_; }

 private:
  class Listener;
  class GradientHook;
  struct Hooked {
    std::shared_ptr<torch::autograd::Node> accumulator;
    std::uintptr_t hook = 0;
  };
  void divide();
  void hook_gradients();
  void unhook_gradients();
  void before_read(int unit, bool is_joint);
  void arrived(std::size_t unit, std::size_t parameter);
  void perform(const UnitActions& actions);
  // Agrees on which parameters have got gradients, and that all ranks have used the same units.
  void agree_on_gradients();

  ModelTensors tensors_;
  RecordedTensors recorded_;  // Until prepare().
  const ShardingGroups groups_;
  const ShardingOptions options_;
  bool broadcasts_buffers_ = true;
  // Declared before the units, which are destroyed first.
  std::vector<std::unique_ptr<Listener>> listeners_;
  std::vector<std::unique_ptr<ShardedUnit>> units_;
  IgnoredParameters ignored_;
  std::unique_ptr<UnitSchedule> schedule_;
  UnitTrace trace_;
  std::vector<std::vector<Hooked>> hooked_;  // By unit and parameter.
  // The same, and at last for ignored parameters; since gradients were reduced.
  std::vector<std::vector<bool>> has_gradient_;
  // Parameters and buffers, which remain the same objects.
  std::set<const void*> without_values_;
  bool uses_whole_ = false;              // Between begin_whole() and its end.
  bool is_local_ = false;                // This pass is inside of no_sync().
  bool has_local_gradients_ = false;     // Some are not reduced yet.
  std::uint64_t recomputed_before_ = 0;  // Calls that this process had computed again.
  bool has_recomputed_ = false;          // In a pass over this model.
  bool expects_recomputing_;             // Until a pass of all ranks has been looked at.
};

}  // namespace accel::runtime
