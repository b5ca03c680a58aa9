#include "runtime/data/dispatch_link.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "runtime/core/iterable_shard.h"

namespace accel::runtime {
namespace {

constexpr std::int64_t kEnd = 0, kBatch = 1, kFailed = -1;

// Broadcast at the beginning of each step: its kind, three numbers of its samples, and the length
// of the new layout that follows, or 0 if the layout has not changed.
using Header = std::vector<std::int64_t>;
constexpr std::size_t kHeaderSize = 5;

Header header_of(std::int64_t kind) { return Header{kind, 0, 0, 0, 0}; }

std::vector<std::int64_t> layout_of(const std::vector<at::Tensor>& tensors) {
  std::vector<std::int64_t> layout;
  for (const at::Tensor& tensor : tensors) {
    layout.push_back(static_cast<std::int64_t>(tensor.scalar_type()));
    layout.push_back(tensor.dim());
    layout.insert(layout.end(), tensor.sizes().begin() + 1, tensor.sizes().end());
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
  std::vector<std::int64_t> layout = layout_of(tensors);
  if (layout == layout_) layout.clear();
  const auto operation = begin_step();
  communicator_->enqueue_numbers({kBatch, static_cast<std::int64_t>(samples.real_samples), rows,
                                  static_cast<std::int64_t>(samples.seen_samples),
                                  static_cast<std::int64_t>(layout.size())});
  agree_on_layout(std::move(layout));
  return scatter(tensors, samples);
}

void DispatchLink::send_end() {
  const auto operation = begin_step();
  communicator_->broadcast_numbers(header_of(kEnd));
}

void DispatchLink::send_failure() {
  const auto operation = begin_step();
  communicator_->broadcast_numbers(header_of(kFailed));
}

std::optional<DispatchLink::Slice> DispatchLink::receive() {
  const auto operation = begin_step();
  const Header header = communicator_->broadcast_numbers(Header(kHeaderSize));
  if (header[0] == kFailed) {
    throw CommunicationError("rank " + std::to_string(communicator_->rank()) +
                             ": rank 0, which reads for all, could not read its next batch");
  }
  if (header[0] == kEnd) return std::nullopt;
  agree_on_layout(std::vector<std::int64_t>(static_cast<std::size_t>(header[4])));
  Slice slice = scatter({}, {.real_samples = static_cast<std::size_t>(header[1]),
                             .padded_samples = static_cast<std::size_t>(header[2]),
                             .seen_samples = static_cast<std::size_t>(header[3])});
  if (slice.batch.front().size(0) == 0) return std::nullopt;
  return slice;
}

void DispatchLink::agree_on_layout(std::vector<std::int64_t> layout) {
  if (!layout.empty()) layout_ = communicator_->broadcast_numbers(std::move(layout));
}

DispatchLink::Slice DispatchLink::scatter(const std::vector<at::Tensor>& tensors,
                                          const StepSamples& samples) {
  const auto rows = static_cast<std::int64_t>(samples.padded_samples / options_.num_processes);
  const auto kept = static_cast<std::int64_t>(dispatched_rows(options_, samples.real_samples));
  ended_ = leaves_a_process_empty(options_, samples.real_samples);
  Slice slice{.batch = {}, .samples = samples};
  if (!options_.even_batches) slice.samples.padded_samples = samples.real_samples;
  for (auto at = layout_.begin(); at != layout_.end();) {
    const auto dtype = static_cast<at::ScalarType>(*at++);
    const auto after = at + *at;
    std::vector<std::int64_t> sizes(at, after);
    sizes[0] = rows;
    at = after;
    std::vector<at::Tensor> parts;
    if (!tensors.empty()) parts = tensors[slice.batch.size()].contiguous().split(rows);
    slice.batch.push_back(communicator_->enqueue_scatter(sizes, dtype, parts).narrow(0, 0, kept));
  }
  return slice;
}

}  // namespace accel::runtime
