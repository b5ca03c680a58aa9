#include "runtime/comm/communicator.h"

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "runtime/comm/communicator_group.h"
#include "runtime/comm/tagged_size.h"

namespace accel::runtime {
namespace {

constexpr std::size_t kBroadcastBytes = 25 << 20;

constexpr char kBackwardAdvice[] =
    ". A backward pass reduces the gradients of the parameters that require one, and broadcasts "
    "the buffers of models in train(): is a parameter frozen, or a model in eval(), on some ranks "
    "only?";

at::Tensor tensor_of(const std::string& bytes) {
  at::Tensor tensor = at::empty({static_cast<std::int64_t>(bytes.size())}, at::kByte);
  std::copy(bytes.begin(), bytes.end(), tensor.mutable_data_ptr<std::uint8_t>());
  return tensor;
}

// Returns a view of `tensor` as bytes if NCCL has no type for its elements: a copy needs no
// arithmetic, so any type can be sent. Returns `tensor` itself otherwise.
at::Tensor view_for_nccl(const at::Tensor& tensor) {
  if (tensor.is_cpu() || !tensor.is_contiguous()) return tensor;
  switch (tensor.scalar_type()) {
    case at::kByte:
    case at::kChar:
    case at::kBool:
    case at::kInt:
    case at::kLong:
    case at::kHalf:
    case at::kBFloat16:
    case at::kFloat:
    case at::kDouble:
      return tensor;
    default:
      return tensor.view({-1}).view(at::kByte);
  }
}

}  // namespace

Communicator::Communicator(std::unique_ptr<Group> group) : group_(std::move(group)) {}

// In a forked child, leaks the group. The child does not have the threads that the destructor would
// join, and it would announce its parent's departure to the other ranks.
Communicator::~Communicator() {
  if (getpid() != group_->process) static_cast<void>(group_.release());
}

int Communicator::rank() const { return group_->control->getRank(); }

int Communicator::size() const { return group_->control->getSize(); }

// For bools, takes the maximum, which is NCCL's sum of bools. Gloo would add their bytes to values
// other than 0 and 1, which are not bools.
void Communicator::all_reduce_sum(at::Tensor tensor) {
  if (tensor.scalar_type() == at::kBool) return all_reduce_max(std::move(tensor));
  all_reduce(std::move(tensor), {});
}

void Communicator::all_reduce_max(at::Tensor tensor) {
  c10d::AllreduceOptions options;
  options.reduceOp = c10d::ReduceOp::MAX;
  all_reduce(std::move(tensor), options);
}

void Communicator::all_reduce(at::Tensor tensor, c10d::AllreduceOptions options) {
  const auto where = group_->place_of({tensor});
  options.asyncOp = where.is_async;
  std::vector<at::Tensor> tensors{std::move(tensor)};
  group_->call("all_reduce", where, [&] { where.backend->allreduce(tensors, options)->wait(); });
}

at::Tensor Communicator::all_gather(const at::Tensor& tensor) {
  const auto where = group_->place_of({tensor});
  at::Tensor mine = tensor.detach().contiguous();
  if (mine.dim() == 0) mine = mine.unsqueeze(0);
  std::vector<std::int64_t> shape = mine.sizes().vec();
  shape[0] *= size();
  const at::Tensor all = at::empty(shape, mine.options());
  at::Tensor from = view_for_nccl(mine), to = view_for_nccl(all);
  c10d::AllgatherOptions options;
  options.asyncOp = where.is_async;
  group_->call("all_gather", where,
               [&] { where.backend->_allgather_base(to, from, options)->wait(); });
  return all;
}

void Communicator::all_gather_into(const at::Tensor& whole, const at::Tensor& part,
                                   const char* call) {
  const auto where = group_->place_of({part, whole});
  c10d::AllgatherOptions options;
  options.asyncOp = where.is_async;
  at::Tensor from = part, to = whole;
  group_->call(call, where, [&] { where.backend->_allgather_base(to, from, options)->wait(); });
}

std::function<void()> Communicator::begin_all_gather_into(const at::Tensor& whole,
                                                          const at::Tensor& part,
                                                          const char* call) {
  const auto where = group_->place_of({part, whole});
  c10d::AllgatherOptions options;
  options.asyncOp = true;
  at::Tensor from = part, to = whole;
  c10::intrusive_ptr<c10d::Work> work;
  group_->call(call, where, [&] { work = where.backend->_allgather_base(to, from, options); });
  return [this, work, where, call] { group_->call(call, where, [&] { work->wait(); }); };
}

void Communicator::reduce_scatter_sum(const at::Tensor& part, const at::Tensor& whole,
                                      const char* call) {
  const auto where = group_->place_of({part, whole});
  c10d::ReduceScatterOptions options;
  options.asyncOp = where.is_async;
  at::Tensor to = part, from = whole;
  group_->call(call, where,
               [&] { where.backend->_reduce_scatter_base(to, from, options)->wait(); });
}

void Communicator::broadcast(const std::vector<at::Tensor>& tensors, int from) {
  if (tensors.empty()) return;
  const auto where = group_->place_of(tensors);
  std::vector<at::Tensor> views;
  for (const at::Tensor& tensor : tensors) views.push_back(view_for_nccl(tensor));
  group_->call("broadcast", where, [&] {
    c10d::broadcast_coalesced(group_->process_group, views, kBroadcastBytes, from);
  });
}

// Slices are copied without waiting for the device: a copy from unpinned memory is staged first.
at::Tensor Communicator::scatter(const std::vector<std::int64_t>& shape, at::ScalarType dtype,
                                 const std::vector<at::Tensor>& slices) {
  const at::Tensor mine = at::empty(shape, at::TensorOptions(group_->device).dtype(dtype));
  const auto where = group_->place_of({mine});
  std::vector<at::Tensor> outputs{view_for_nccl(mine)};
  std::vector<std::vector<at::Tensor>> inputs;
  if (rank() == 0) {
    std::vector<at::Tensor>& parts = inputs.emplace_back();
    for (const at::Tensor& slice : slices) {
      parts.push_back(view_for_nccl(slice.to(group_->device, /*non_blocking=*/true)));
    }
  }
  c10d::ScatterOptions options;
  options.asyncOp = where.is_async;
  group_->call("scatter", where, [&] { where.backend->scatter(outputs, inputs, options)->wait(); });
  return mine;
}

std::vector<std::int64_t> Communicator::all_gather_number(std::int64_t number) {
  const at::Tensor all = all_gather(at::full({1}, number, at::kLong));
  const auto* numbers = all.const_data_ptr<std::int64_t>();
  return {numbers, numbers + all.numel()};
}

std::int64_t Communicator::broadcast_number(std::int64_t number) {
  return broadcast_numbers({number}).front();
}

std::vector<std::int64_t> Communicator::broadcast_numbers(
    const std::vector<std::int64_t>& numbers) {
  const at::Tensor shared = at::tensor(numbers, at::kLong);
  broadcast({shared});
  const auto* begin = shared.const_data_ptr<std::int64_t>();
  return {begin, begin + shared.numel()};
}

// Returns the size in `number`, before memory is allocated for it. Throws CallsDiffer if `number`
// is no size. A peer in another call may have sent a number of the same length, such as a digest.
std::size_t Communicator::received_size(const char* call, std::int64_t number, int sender) const {
  if (const std::optional<std::size_t> size = untagged_size(number)) return *size;
  refuse_data(call, sender, "sent no length");
}

void Communicator::refuse_data(const char* call, int sender, const std::string& what) const {
  group_->fail_differing(call, "rank " + std::to_string(sender) + " " + what +
                                   ", so it is in another call. All ranks must call the same accel "
                                   "methods in the same order");
}

std::vector<std::string> Communicator::all_gather_bytes(const std::string& bytes) {
  std::vector<std::size_t> sizes;
  for (const std::int64_t number : all_gather_number(tagged_size(bytes.size()))) {
    sizes.push_back(received_size("all_gather", number, static_cast<int>(sizes.size())));
  }
  const std::size_t largest = *std::max_element(sizes.begin(), sizes.end());
  std::string padded = bytes;
  padded.resize(largest);
  const at::Tensor all = all_gather(tensor_of(padded));
  std::vector<std::string> out;
  for (std::size_t rank = 0; rank < sizes.size(); ++rank) {
    const auto* start =
        reinterpret_cast<const char*>(all.const_data_ptr<std::uint8_t>()) + rank * largest;
    out.emplace_back(start, sizes[rank]);
  }
  return out;
}

std::string Communicator::broadcast_bytes(const std::string& bytes, int from) {
  const at::Tensor size = at::full({1}, tagged_size(bytes.size()), at::kLong);
  broadcast({size}, from);
  std::string shared = bytes;
  shared.resize(received_size("broadcast", size.item<std::int64_t>(), from));
  const at::Tensor data = tensor_of(shared);
  broadcast({data}, from);
  return {reinterpret_cast<const char*>(data.const_data_ptr<std::uint8_t>()), shared.size()};
}

void Communicator::barrier() {
  c10d::BarrierOptions options;
  options.asyncOp = false;
  group_->run("barrier", [&] { group_->control->barrier(options)->wait(); });
}

void Communicator::check() const {
  if (group_->queue != nullptr) group_->queue->check();
}

void Communicator::run_call(const char* call, const std::function<void()>& body) {
  const OperationScope scope(this, group_->operation, kBackwardAdvice);
  group_->queue == nullptr ? group_->run(call, body) : group_->enqueue(call, body);
}

void Communicator::note_failure(const std::string& text) { group_->watch->note_failure(text); }

OperationScope::OperationScope(Communicator* communicator, const char* operation,
                               const char* advice)
    : communicator_(communicator) {
  if (communicator_ == nullptr) return;
  outer_operation_ = std::exchange(communicator_->group_->operation, operation);
  outer_advice_ = std::exchange(communicator_->group_->advice, advice);
}

OperationScope::~OperationScope() {
  if (communicator_ == nullptr) return;
  communicator_->group_->operation = outer_operation_;
  communicator_->group_->advice = outer_advice_;
}

const c10::intrusive_ptr<c10d::ProcessGroup>& Communicator::process_group() const {
  return group_->process_group;
}

}  // namespace accel::runtime
