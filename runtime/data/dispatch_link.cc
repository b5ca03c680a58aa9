#include "runtime/data/dispatch_link.h"

#include <stdexcept>
#include <string>
#include <utility>

#include "runtime/core/iterable_shard.h"

namespace accel::runtime {
namespace {

using Kind = DispatchedStep::Kind;

constexpr auto kDtypes = static_cast<std::int64_t>(at::ScalarType::NumOptions);

std::vector<TensorLayout> layout_of(const std::vector<at::Tensor>& tensors) {
  std::vector<TensorLayout> layout;
  for (const at::Tensor& tensor : tensors) {
    layout.push_back({.dtype = static_cast<std::int64_t>(tensor.scalar_type()),
                      .row_sizes = {tensor.sizes().begin() + 1, tensor.sizes().end()}});
  }
  return layout;
}

}  // namespace

DispatchLink::DispatchLink(std::shared_ptr<Communicator> communicator, const ShardOptions& options)
    : communicator_(std::move(communicator)), options_(options) {}

OperationScope DispatchLink::begin_step() const {
  return OperationScope(communicator_.get(), "the next batch of a dispatched loader");
}

DispatchLink::Slice DispatchLink::send(const std::vector<at::Tensor>& tensors,
                                       const StepSamples& samples) {
  const auto rows = static_cast<std::int64_t>(samples.padded_samples);
  for (const at::Tensor& tensor : tensors) {
    if (tensor.dim() > 0 && tensor.size(0) == rows) continue;
    send_failure();
    throw std::invalid_argument("dispatch_batches needs tensors with one row per sample: " +
                                std::to_string(rows) + " samples were read, a tensor has " +
                                (tensor.dim() > 0 ? std::to_string(tensor.size(0)) + " rows"
                                                  : std::string("no dimension")));
  }
  std::vector<TensorLayout> layout = layout_of(tensors);
  const std::vector<std::int64_t> changed =
      layout == layout_ ? std::vector<std::int64_t>() : numbers_of(layout);
  if (changed.size() > kMaxLayoutNumbers) {
    send_failure();
    throw std::invalid_argument("dispatch_batches: the shapes of a batch take " +
                                std::to_string(changed.size()) + " numbers, and the maximum is " +
                                std::to_string(kMaxLayoutNumbers) +
                                ": stack its tensors into fewer ones");
  }
  const auto operation = begin_step();
  communicator_->broadcast_numbers(numbers_of(
      DispatchedStep{.kind = Kind::kBatch, .samples = samples, .layout_numbers = changed.size()}));
  if (!changed.empty()) communicator_->broadcast_numbers(changed);
  layout_ = std::move(layout);
  return scatter(tensors, samples);
}

void DispatchLink::send_end() {
  const auto operation = begin_step();
  communicator_->broadcast_numbers(numbers_of(DispatchedStep{.kind = Kind::kEnd}));
}

void DispatchLink::send_failure() {
  const auto operation = begin_step();
  communicator_->broadcast_numbers(numbers_of(DispatchedStep{.kind = Kind::kFailed}));
}

std::optional<DispatchLink::Slice> DispatchLink::receive() {
  const auto operation = begin_step();
  DispatchedStep step;
  try {
    step = receive_step();
  } catch (const BadDispatchMessage& error) {
    communicator_->refuse_data("broadcast", 0, error.what());
  }
  if (step.kind == Kind::kFailed) {
    throw CommunicationError("rank " + std::to_string(communicator_->rank()) +
                             ": rank 0, which reads for all, could not read its next batch");
  }
  if (step.kind == Kind::kEnd) return std::nullopt;
  Slice slice = scatter({}, step.samples);
  if (slice.batch.front().size(0) == 0) return std::nullopt;
  return slice;
}

DispatchedStep DispatchLink::receive_step() {
  const auto received = [this](std::size_t count) {
    return communicator_->broadcast_numbers(std::vector<std::int64_t>(count));
  };
  const DispatchedStep step = read_step(received(kStepNumbers), options_.num_processes);
  if (step.kind != Kind::kBatch) return step;
  if (step.layout_numbers > 0) layout_ = read_layout(received(step.layout_numbers), kDtypes);
  check_slice(layout_, rows_of_slice(step.samples));
  return step;
}

std::int64_t DispatchLink::rows_of_slice(const StepSamples& samples) const {
  return static_cast<std::int64_t>(samples.padded_samples / options_.num_processes);
}

DispatchLink::Slice DispatchLink::scatter(const std::vector<at::Tensor>& tensors,
                                          const StepSamples& samples) {
  const std::int64_t rows = rows_of_slice(samples);
  const auto kept = static_cast<std::int64_t>(dispatched_rows(options_, samples.real_samples));
  ended_ = leaves_a_process_empty(options_, samples.real_samples);
  Slice slice{.batch = {}, .samples = samples};
  if (!options_.even_batches) slice.samples.padded_samples = samples.real_samples;
  for (const TensorLayout& layout : layout_) {
    std::vector<std::int64_t> sizes{rows};
    sizes.insert(sizes.end(), layout.row_sizes.begin(), layout.row_sizes.end());
    std::vector<at::Tensor> parts;
    if (!tensors.empty()) parts = tensors[slice.batch.size()].contiguous().split(rows);
    slice.batch.push_back(
        communicator_->scatter(sizes, static_cast<at::ScalarType>(layout.dtype), parts)
            .narrow(0, 0, kept));
  }
  return slice;
}

}  // namespace accel::runtime
