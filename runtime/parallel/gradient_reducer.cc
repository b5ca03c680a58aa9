#include "runtime/parallel/gradient_reducer.h"

#include <algorithm>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>

#include "runtime/parallel/comm_hook.h"

namespace accel::runtime {

class GradientReducer::Reducer : public c10d::Reducer {
 public:
  using c10d::Reducer::Reducer;

  // Resets the flags of a pass. Does not use reset_state() of the base class, for two reasons. It
  // also forgets the order of the buckets, which this rank alone would then learn again. It needs a
  // map of used parameters, which may not exist (docs/decisions/0025).
  bool cancel_pass() {
    const bool sent = expect_autograd_hooks_ && next_bucket_ > 0;
    // Waits for the buckets that were sent, because their memory is in use until
    // their all-reduce ends.
    for (std::size_t i = 0; sent && i < next_bucket_; ++i) buckets_[i].future_work->wait();
    const std::lock_guard lock(mutex_);
    expect_autograd_hooks_ = require_finalize_ = first_autograd_hook_called_ = false;
    if (find_unused_parameters_ && !static_graph_) {
      local_used_map_.zero_();
      local_used_map_reduced_ = false;
    }
    if (!has_rebuilt_bucket_) {
      rebuilt_params_.clear();
      rebuilt_param_indices_.clear();
    }
    return sent;
  }
};

GradientReducer::GradientReducer(std::vector<TrainedParameter> parameters,
                                 std::shared_ptr<Communicator> communicator,
                                 const DataParallelOptions& options)
    : parameters_(std::move(parameters)),
      communicator_(std::move(communicator)),
      options_(options),
      learns_graph_(options.static_graph),
      reducer_(make()) {
  release_views();
}

GradientReducer::~GradientReducer() = default;

// Buckets are in the reverse order of the parameters, which is about the order in which gradients
// become ready. The first one is small, so that communication starts early.
std::unique_ptr<GradientReducer::Reducer> GradientReducer::make() const {
  const std::int64_t cap = std::int64_t{options_.bucket_cap_mb} << 20;
  const std::int64_t first = std::min<std::int64_t>(c10d::kDefaultFirstBucketBytes, cap);
  std::vector<at::Tensor> tensors;
  std::vector<bool> sparse;
  std::unordered_map<std::size_t, std::string> names;
  for (const TrainedParameter& parameter : parameters_) {
    names[tensors.size()] = parameter.name;
    tensors.push_back(parameter.tensor);
    sparse.push_back(parameter.sparse);
  }
  auto [buckets, limits] = c10d::compute_bucket_assignment_by_size(
      tensors, {static_cast<std::size_t>(first), static_cast<std::size_t>(cap)}, sparse);
  std::reverse(buckets.begin(), buckets.end());
  // With an empty list, the limits of rebuilt buckets are `first` and then `cap`.
  auto reducer = std::make_unique<Reducer>(
      tensors, buckets, communicator_->process_group(), sparse, cap,
      options_.find_unused_parameters, options_.gradient_as_bucket_view, names, first,
      /*skip_all_reduce_unused_params=*/false, /*use_python_reducer=*/false,
      /*bucket_bytes_cap_list=*/std::vector<std::int64_t>());
  if (options_.static_graph) reducer->set_static_graph();
  if (auto hook = make_comm_hook(options_.comm_hook, *communicator_)) {
    reducer->register_comm_hook(std::move(hook));
  }
  return reducer;
}

void GradientReducer::begin_pass(const std::vector<at::Tensor>& outputs) {
  reducer_->rebuild_buckets();
  reducer_->prepare_for_backward(options_.find_unused_parameters ? outputs
                                                                 : std::vector<at::Tensor>());
}

bool GradientReducer::end_pass() {
  // The first pass over a static graph only counts how often each parameter is used.
  if (learns_graph_) {
    reducer_->delay_all_reduce();
    learns_graph_ = false;
  }
  try {
    reducer_->check_finalized();
  } catch (const c10::Error&) {
    // check_finalized() does not communicate, and throws only if parameters got no gradient.
    return false;
  }
  release_views();
  return true;
}

bool GradientReducer::cancel_pass() {
  const bool sent = reducer_->cancel_pass();
  if (learns_graph_) {
    reducer_ = nullptr;  // Removes its hooks before another one adds hooks.
    reducer_ = make();
  }
  release_views();
  return sent;
}

std::vector<std::size_t> GradientReducer::bucket_bytes() const {
  std::vector<std::size_t> bytes;
  for (const c10d::GradBucket& bucket : reducer_->get_grad_buckets()) {
    bytes.push_back(bucket.getBuffer().nbytes());
  }
  return bytes;
}

// The reducer's gradients are views of the buckets, and LibTorch's zero_grad() cannot detach a view
// in place. So each gradient is replaced by a detached tensor that shares the bucket's memory,
// without a copy.
void GradientReducer::release_views() {
  for (const TrainedParameter& parameter : parameters_) {
    at::Tensor& gradient = parameter.tensor.mutable_grad();
    if (gradient.defined()) gradient = gradient.detach();
  }
}

}  // namespace accel::runtime
