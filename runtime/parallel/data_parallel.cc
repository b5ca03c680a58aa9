// Data parallel training of one model: every rank has a copy, and all copies make the same steps.
//
// LibTorch's c10d::Reducer does the main work. It hooks the nodes that add up gradients, and
// all-reduces gradients in buckets while the backward pass runs. It is made for a fixed set
// of parameters, because the module of Python's DistributedDataParallel must not change. A
// C++ program has no wrapper that could forbid changes. It holds the module itself, and may
// freeze layers, load weights, call to() or add parts at any time. So DataParallel follows
// the module (docs/decisions/0025):
//
// - Each backward pass begins with follow_changes(). ModelTensors compares the module with its last
//   state (0.2 us per parameter). If the set of trained parameters differs, the reducer is rebuilt.
//   Nothing is communicated for that.
// - A program changes its model on all ranks alike, so all ranks should notice the same change.
//   compare_for_ remembers the reason. agree_on_changes() then compares a description of the models
//   before anything is reduced, at the cost of one all-gather. If only one rank has changed its
//   model, that rank is in this all-gather while the others are in their first bucket. The
//   communicator sees that the calls differ, and its error names the reason.
// - In the common case, in which nothing has changed, nothing is communicated.
//
// A comparison in each pass would cost a round trip in which no gradient is computed. A comparison
// in prepare() only would not be enough. Ranks that freeze different layers later would reduce
// different buckets, which would be silently wrong if their sizes are equal.
//
// Four more cases go beyond DistributedDataParallel:
//
// - Two prepared models may have a parameter in common. Both reducers hook it. LossGraph decides
//   which model a pass belongs to. A gradient can be a view of one bucket only, so such models copy
//   their gradients.
// - A loss may not depend on a model that was called, as with experts that get no sample.
//   zero_loss() gives a zero that depends on the model, so that this rank takes part in the pass.
// - A rank without batches takes part in the passes of the others. shadow_backward() runs the same
//   hooks with gradients of zero, so the reducer makes the same calls as in a pass.
// - A pass may fail, for example because memory runs out. cancel_backward() then resets the
//   reducer. If this rank has sent a part of the gradients, the next pass first compares the
//   models, with the reason kFailed.
//
// Buffers are copied from rank 0 after each pass, and not before each forward pass as in Python,
// because only backward() is collective. A rank may call the model any number of times.
#include "runtime/parallel/data_parallel.h"

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "runtime/comm/communicator.h"
#include "runtime/core/rank_difference.h"
#include "runtime/parallel/gradient_reducer.h"
#include "runtime/parallel/model_tensors.h"

namespace accel::runtime {
namespace {

// The reasons to compare models. They appear in the errors of ranks that do not compare.
constexpr char kFirst[] = "the first backward";
constexpr char kFrozen[] = "backward, before which parameters were frozen or unfrozen,";
constexpr char kReplaced[] =
    "backward, before which parameters or buffers were loaded, cast, moved, added or removed,";
constexpr char kMode[] = "backward, before which train() or eval() was called,";
constexpr char kShared[] =
    "backward, before which another model with the same parameters was prepared or freed,";
constexpr char kFailed[] = "backward, after one that failed,";

// Returns tensors of the same memory with separate version counters. A living graph may have saved
// some of the originals. A write through detach() would increment their version, and the backward
// pass of that graph would fail.
std::vector<at::Tensor> memory_of(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> memory;
  for (const at::Tensor& tensor : tensors) memory.push_back(tensor.variable_data());
  return memory;
}

class DataParallel final : public ParallelStrategy, public Joinable {
 public:
  DataParallel(std::shared_ptr<torch::nn::Module> module,
               std::shared_ptr<Communicator> communicator)
      : tensors_(std::move(module)), communicator_(std::move(communicator)) {}

  const std::shared_ptr<torch::nn::Module>& module() const override { return tensors_.module(); }

  void prepare(const DataParallelOptions& options) override {
    if (options.bucket_cap_mb < 1) {
      throw std::invalid_argument("data_parallel.bucket_cap_mb = " +
                                  std::to_string(options.bucket_cap_mb) + " should be at least 1");
    }
    options_ = options;
    tensors_.follow();
    if (const auto difference = difference_of(tensors_.describe(/*with_checksums=*/false))) {
      throw std::invalid_argument("prepare: the ranks' models, " + module()->name() +
                                  ", differ: " + *difference);
    }
    copy_from(0);
    compare_for_ = kFirst;
    make_reducer();
  }

  void follow_changes() override {
    // The call of the model was for a pass that is not reduced.
    if (keeps_gradients_local()) was_called_ = false;
    const ModelChange change = tensors_.follow();
    if (change != ModelChange::kNone) make_reducer();
    if (change == ModelChange::kReplaced || compare_for_ == kReplaced) {
      compare_for_ = kReplaced;
    } else if (compare_for_ == nullptr) {
      compare_for_ = change == ModelChange::kFrozen                 ? kFrozen
                     : agreed_on_broadcast_ != broadcasts_buffers() ? kMode
                                                                    : nullptr;
    }
  }

  bool is_reached_from(const at::Tensor& loss) const override {
    return tensors_.is_reached_from(loss);
  }

  std::vector<const void*> trained() const override {
    std::vector<const void*> nodes;
    for (const TrainedParameter& one : tensors_.trained()) nodes.push_back(one.accumulator.get());
    return nodes;
  }

  void set_shares_parameters(bool shares) override {
    if (std::exchange(shares_parameters_, shares) == shares) return;
    make_reducer();
    if (compare_for_ == nullptr) compare_for_ = kShared;
  }

  void note_call() override { was_called_ = was_called_ || at::GradMode::is_enabled(); }

  at::Tensor zero_loss() override {
    if (!was_called_ || !options_.find_unused_parameters || options_.static_graph) return {};
    if (tensors_.trained().empty()) return {};
    return no_elements_of(tensors_.trained().front()).sum();
  }

  void agree_on_changes() override {
    if (shares_parameters_) check_may_share();
    if (compare_for_ == nullptr) return;
    std::vector<std::string> lines = tensors_.describe(compare_for_ == kReplaced);
    lines.push_back(broadcasts_buffers() ? "train()" : "eval(), or no buffers");
    const OperationScope operation(communicator_.get(), compare_for_);
    if (const auto difference = difference_of(lines)) {
      throw std::runtime_error(
          "backward: the ranks' models, " + module()->name() +
          ", have come to differ: " + *difference +
          ". Freeze, load, cast, extend and train() or eval() the model on all ranks alike, or "
          "call prepare() again, which gives all of them rank 0's values");
    }
    compare_for_ = nullptr;
    agreed_on_broadcast_ = broadcasts_buffers();
  }

  void before_backward(const at::Tensor& loss) override {
    was_called_ = false;
    reducer_->begin_pass({loss});
  }

  void after_backward(const at::Tensor& loss) override {
    if (!end_pass()) throw std::runtime_error(unused_parameters(loss));
    if (broadcasts_buffers()) broadcast_buffers();
  }

  void cancel_backward() override {
    if (reducer_->cancel_pass() && compare_for_ == nullptr) compare_for_ = kFailed;
  }

  Joinable* joinable() override { return this; }

  bool broadcasts_buffers() const override {
    return options_.broadcast_buffers && module()->is_training() && !tensors_.buffers().empty();
  }

  void set_leader(int rank) override { leader_ = rank; }

  // Makes a backward pass with gradients of zero, which runs the reducer's hooks.
  void shadow_backward(bool with_buffers) override {
    const at::AutoGradMode with_graph(true);
    std::vector<at::Tensor> kept, outputs, zeros;
    for (const TrainedParameter& parameter : tensors_.trained()) {
      const at::Tensor& tensor = parameter.tensor;
      // Cloned, because gradients may be the reducer's memory, which the pass overwrites.
      kept.push_back(tensor.grad().defined() ? tensor.grad().clone() : at::Tensor());
      tensor.mutable_grad() = at::Tensor();
      outputs.push_back(parameter.sparse ? no_elements_of(parameter) : tensor.view_as(tensor));
      zeros.push_back(at::zeros_like(outputs.back()));
    }
    reducer_->begin_pass(outputs);
    torch::autograd::backward(outputs, zeros);
    if (!end_pass()) throw std::logic_error("a shadow of a backward pass is incomplete");
    for (std::size_t i = 0; i < kept.size(); ++i) {
      tensors_.trained()[i].tensor.mutable_grad() = kept[i];
    }
    if (with_buffers) broadcast_buffers();
  }

  void copy_from(int rank) override {
    std::vector<at::Tensor> state = tensors_.buffers();
    state.insert(state.end(), tensors_.parameters().begin(), tensors_.parameters().end());
    communicator_->broadcast(memory_of(state), rank);
  }

 private:
  // Returns a view of the parameter without elements, so that its gradient is zero. If the gradient
  // must be sparse, it is an embedding lookup of no index.
  static at::Tensor no_elements_of(const TrainedParameter& parameter) {
    const at::Tensor& tensor = parameter.tensor;
    if (!parameter.sparse) return tensor.reshape({-1}).narrow(0, 0, 0);
    const at::Tensor none = at::empty({0}, tensor.options().dtype(at::kLong).requires_grad(false));
    return at::embedding(tensor, none, /*padding_idx=*/-1, /*scale_grad_by_freq=*/false,
                         /*sparse=*/true);
  }

  // The reducers of both models read the same gradient, and each leaves the mean, which is correct
  // except in two cases. A sparse gradient is divided in place, so the second reducer would divide
  // it again. A static graph would count the passes of the other model.
  void check_may_share() const {
    bool sparse = false;
    for (const TrainedParameter& one : tensors_.trained()) sparse = sparse || one.sparse;
    if (!sparse && !options_.static_graph) return;
    throw std::invalid_argument(
        module()->name() +
        " has a parameter in common with another prepared model, which cannot be together with " +
        (sparse ? "sparse gradients" : "data_parallel.static_graph") +
        ": prepare one module that has both as its parts");
  }

  // Makes a reducer for the parameters that currently require a gradient. Makes none if there are
  // no such parameters.
  void make_reducer() {
    reducer_ = nullptr;  // Removes its hooks before another one adds hooks.
    if (tensors_.trained().empty()) return;
    DataParallelOptions options = options_;
    // A gradient can be a view of one reducer's memory only.
    options.gradient_as_bucket_view = options_.gradient_as_bucket_view && !shares_parameters_;
    reducer_ = std::make_unique<GradientReducer>(tensors_.trained(), communicator_, options);
    // The reducer learns a static graph from the first pass, which must therefore be reduced.
    if (reducer_->learns_graph() && !std::exchange(forces_first_pass_, true))
      count_scopes(GradientSync::kForced, 1);
  }

  [[nodiscard]] bool end_pass() {
    const bool is_complete = reducer_->end_pass();
    if (is_complete && std::exchange(forces_first_pass_, false))
      count_scopes(GradientSync::kForced, -1);
    return is_complete;
  }

  void broadcast_buffers() { communicator_->broadcast(memory_of(tensors_.buffers()), leader_); }

  // Must be called on all ranks. It takes one all-gather, and two more if the ranks' lines differ.
  std::optional<std::string> difference_of(const std::vector<std::string>& lines) const {
    std::string text;
    for (const std::string& line : lines) text += line + '\n';
    const auto mine = static_cast<std::int64_t>(std::hash<std::string>()(text));
    const std::vector<std::int64_t> all = communicator_->all_gather_number(mine);
    if (std::equal(all.begin() + 1, all.end(), all.begin())) return std::nullopt;
    return rank_difference(communicator_->all_gather_bytes(text));
  }

  std::string unused_parameters(const at::Tensor& loss) const {
    constexpr std::size_t kNamed = 10;
    const std::vector<std::string> unused = tensors_.not_reached_from(loss);
    std::string names;
    for (std::size_t i = 0; i < std::min(kNamed, unused.size()); ++i) {
      names += (i == 0 ? "" : ", ") + unused[i];
    }
    if (unused.size() > kNamed) {
      names += " and " + std::to_string(unused.size() - kNamed) + " more";
    }
    return "rank " + std::to_string(communicator_->rank()) +
           ": the loss does not depend on these parameters of " + module()->name() + ": " + names +
           "; freeze them with requires_grad_(false), or set data_parallel.find_unused_parameters "
           "in AcceleratorOptions";
  }

  ModelTensors tensors_;
  const std::shared_ptr<Communicator> communicator_;
  DataParallelOptions options_;
  std::unique_ptr<GradientReducer> reducer_;  // Null while all parameters are frozen.
  bool forces_first_pass_ = false;
  bool shares_parameters_ = false;
  bool was_called_ = false;            // With a graph, since the last pass.
  const char* compare_for_ = nullptr;  // Why to compare before the next pass; null: no need.
  bool agreed_on_broadcast_ = false;   // broadcasts_buffers() at the last comparison.
  int leader_ = 0;
};

}  // namespace

std::shared_ptr<ParallelStrategy> make_data_parallel(std::shared_ptr<torch::nn::Module> module,
                                                     std::shared_ptr<Communicator> communicator) {
  return std::make_shared<DataParallel>(std::move(module), std::move(communicator));
}

}  // namespace accel::runtime
