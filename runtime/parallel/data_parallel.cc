#include "runtime/parallel/data_parallel.h"

#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "runtime/comm/communicator.h"
#include "runtime/core/rank_difference.h"
#include "runtime/parallel/gradient_reducer.h"
#include "runtime/parallel/model_tensors.h"

namespace accel {
namespace {

// Why ranks compare their models, for the error of those that did not come to do so.
constexpr char kFirst[] = "the first backward";
constexpr char kFrozen[] = "backward, before which parameters were frozen or unfrozen,";
constexpr char kReplaced[] =
    "backward, before which parameters or buffers were loaded, cast, moved, added or removed,";
constexpr char kMode[] = "backward, before which train() or eval() was called,";
constexpr char kShared[] =
    "backward, before which another model with the same parameters was prepared or freed,";
constexpr char kFailed[] = "backward, after one that failed,";

// The same memory without the graph. Graphs that live on have saved some of these tensors, and
// would take what is written through detach() for a change that ruins them.
std::vector<at::Tensor> memory_of(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> memory;
  for (const at::Tensor& tensor : tensors) memory.push_back(tensor.variable_data());
  return memory;
}

class DataParallel final : public ParallelStrategy {
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
    if (is_paused()) was_called_ = false;  // For a pass of this rank's own.
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

  bool reached_from(const at::Tensor& loss) override { return tensors_.reached_from(loss); }

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

  at::Tensor nothing() override {
    if (!was_called_ || !options_.find_unused_parameters || options_.static_graph) return {};
    if (tensors_.trained().empty()) return {};
    return nothing_of(tensors_.trained().front()).sum();
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

  bool broadcasts_buffers() const override {
    return options_.broadcast_buffers && module()->is_training() && !tensors_.buffers().empty();
  }

  void set_leader(int rank) override { leader_ = rank; }

  // Through the same hooks, so that whatever the reducer does for a pass is done here too.
  void shadow_backward(bool with_buffers) override {
    const at::AutoGradMode with_graph(true);
    std::vector<at::Tensor> kept, outputs, zeros;
    for (const TrainedParameter& parameter : tensors_.trained()) {
      const at::Tensor& tensor = parameter.tensor;
      // Gradients are the reducer's memory, which is about to be used.
      kept.push_back(tensor.grad().defined() ? tensor.grad().clone() : at::Tensor());
      tensor.mutable_grad() = at::Tensor();
      outputs.push_back(parameter.sparse ? nothing_of(parameter) : tensor.view_as(tensor));
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
  // No elements of it, so that its gradient is zero; of a table, by a lookup of nothing, so that it
  // is sparse as well.
  static at::Tensor nothing_of(const TrainedParameter& parameter) {
    const at::Tensor& tensor = parameter.tensor;
    if (!parameter.sparse) return tensor.reshape({-1}).narrow(0, 0, 0);
    const at::Tensor none = at::empty({0}, tensor.options().dtype(at::kLong).requires_grad(false));
    return at::embedding(tensor, none, /*padding_idx=*/-1, /*scale_grad_by_freq=*/false,
                         /*sparse=*/true);
  }

  // The reducers of both models take the gradient as it is, and each leaves the mean; but one of a
  // sparse gradient divides it in place, and a static graph counts the passes of the other model.
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

  // For those parameters that require a gradient now. While there is none, there is nothing to do.
  void make_reducer() {
    reducer_ = nullptr;  // Before another one adds its hooks.
    if (tensors_.trained().empty()) return;
    DataParallelOptions options = options_;
    // A gradient can be a part of one reducer's memory only.
    options.gradient_as_bucket_view = options_.gradient_as_bucket_view && !shares_parameters_;
    reducer_ = std::make_unique<GradientReducer>(tensors_.trained(), communicator_, options);
    // It learns a static graph from the first pass that it sees at all, which is then reduced.
    if (reducer_->learns_graph() && !std::exchange(forces_first_pass_, true)) add_forced(1);
  }

  [[nodiscard]] bool end_pass() {
    const bool is_complete = reducer_->end_pass();
    if (is_complete && std::exchange(forces_first_pass_, false)) add_forced(-1);
    return is_complete;
  }

  void broadcast_buffers() {
    communicator_->enqueue_broadcast(memory_of(tensors_.buffers()), leader_);
  }

  // Collective: one all-gather; two more if there is a difference.
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
  bool was_called_ = false;            // With a graph, since its last pass.
  const char* compare_for_ = nullptr;  // Why the ranks compare before the next pass; null: no need.
  bool agreed_on_broadcast_ = false;   // broadcasts_buffers() when they did last.
  int leader_ = 0;
};

}  // namespace

std::shared_ptr<ParallelStrategy> make_data_parallel(std::shared_ptr<torch::nn::Module> module,
                                                     std::shared_ptr<Communicator> communicator) {
  return std::make_shared<DataParallel>(std::move(module), std::move(communicator));
}

}  // namespace accel
