#include "runtime/process/collectives.h"

#include <torch/types.h>

#include <algorithm>
#include <iterator>
#include <stdexcept>

#include "accel/errors.h"
#include "runtime/core/packed_strings.h"
#include "runtime/process/process_control.h"
#include "runtime/process/process_state.h"

namespace accel::runtime {

Collectives::Tensors Collectives::gather_each(Tensors tensors, const char* name) const {
  if (!processes_.use_distributed()) return tensors;
  const auto operation = processes_.begin_operation(name, tensors);
  for (at::Tensor& tensor : tensors) tensor = processes_.state().communicator->all_gather(tensor);
  return tensors;
}

at::Tensor Collectives::gather_for_metrics(const at::Tensor& tensor) const {
  at::Tensor all = gather_each({tensor}, "gather_for_metrics").front();
  const StepSamples* position = processes_.state().loaders->current();
  if (!processes_.use_distributed() || position == nullptr) return all;
  const bool row_per_sample =
      tensor.dim() > 0 && all.size(0) == static_cast<std::int64_t>(position->padded_samples);
  return row_per_sample ? all.narrow(0, 0, static_cast<std::int64_t>(position->real_samples)) : all;
}

std::vector<std::string> Collectives::gather_for_metrics(
    const std::vector<std::string>& objects) const {
  std::vector<std::string> all = gather_object(objects);
  const StepSamples* position = processes_.state().loaders->current();
  if (processes_.use_distributed() && position != nullptr &&
      all.size() == position->padded_samples) {
    all.resize(position->real_samples);
  }
  return all;
}

at::Tensor Collectives::reduce_one(const at::Tensor& tensor, Reduction reduction) const {
  at::Tensor result = tensor.detach().clone(torch::MemoryFormat::Contiguous);
  if (!processes_.use_distributed() || std::holds_alternative<torch::enumtype::kNone>(reduction)) {
    return result;
  }
  const bool mean = std::holds_alternative<torch::enumtype::kMean>(reduction);
  if (mean && !tensor.is_floating_point() && !tensor.is_complex()) {
    throw std::invalid_argument(
        "the mean of integers is not an integer: reduce(tensor.to(torch::kFloat), kMean)");
  }
  if (std::holds_alternative<torch::enumtype::kMax>(reduction)) {
    processes_.state().communicator->all_reduce_max(result);
    return result;
  }
  processes_.state().communicator->all_reduce_sum(result);
  if (mean) result.div_(processes_.num_processes());
  return result;
}

Collectives::Tensors Collectives::reduce_each(Tensors tensors, Reduction reduction) const {
  const auto operation = processes_.begin_operation("reduce", tensors);
  for (at::Tensor& tensor : tensors) tensor = reduce_one(tensor, reduction);
  return tensors;
}

// Without this check, all ranks would wait for a process that does not exist.
void Collectives::check_process(const char* operation, int process) const {
  if (0 <= process && process < processes_.num_processes()) return;
  throw std::invalid_argument(
      std::string(operation) + ": from_process = " + std::to_string(process) +
      " should be from 0 to " + std::to_string(processes_.num_processes() - 1));
}

Collectives::Tensors Collectives::broadcast_each(Tensors tensors, int from_process) const {
  for (at::Tensor& tensor : tensors) {
    tensor = tensor.detach().clone(torch::MemoryFormat::Contiguous);
  }
  check_process("broadcast", from_process);
  if (!processes_.use_distributed()) return tensors;
  const auto operation = processes_.begin_operation("broadcast", tensors);
  processes_.state().communicator->broadcast(tensors, from_process);
  return tensors;
}

Collectives::Tensors Collectives::pad_each(Tensors tensors, const PadOptions& options) const {
  if (!processes_.use_distributed() || tensors.empty()) return tensors;
  const auto operation = processes_.begin_operation("pad_across_processes", tensors, options.dim);
  const auto has_dim = [&](const at::Tensor& tensor) {
    return -tensor.dim() <= options.dim && options.dim < tensor.dim();
  };
  std::vector<std::int64_t> sizes;
  for (const at::Tensor& tensor : tensors) {
    sizes.push_back(has_dim(tensor) ? tensor.size(options.dim) : 0);
  }
  const auto count = static_cast<std::int64_t>(sizes.size());
  const at::Tensor largest = torch::tensor(sizes, torch::kLong);
  processes_.state().communicator->all_reduce_max(largest);
  for (std::int64_t i = 0; i < count; ++i) {
    at::Tensor& tensor = tensors[static_cast<std::size_t>(i)];
    const std::int64_t missing =
        largest[i].item<std::int64_t>() - sizes[static_cast<std::size_t>(i)];
    if (!has_dim(tensor) || missing == 0) continue;
    std::vector<std::int64_t> shape = tensor.sizes().vec();
    shape[static_cast<std::size_t>(torch::maybe_wrap_dim(options.dim, tensor.dim()))] = missing;
    const at::Tensor padding = torch::full(shape, options.pad_index, tensor.options());
    tensor = options.pad_first ? torch::cat({padding, tensor}, options.dim)
                               : torch::cat({tensor, padding}, options.dim);
  }
  return tensors;
}

std::vector<std::string> Collectives::gather_object(const std::vector<std::string>& objects) const {
  if (!processes_.use_distributed()) return objects;
  const auto operation = processes_.begin_operation("gather_object");
  const auto received = processes_.state().communicator->all_gather_bytes(pack_strings(objects));
  std::vector<std::string> all;
  for (std::size_t rank = 0; rank < received.size(); ++rank) {
    auto theirs = unpack_strings(received[rank]);
    if (!theirs) {
      throw CallsDiffer("gather_object: rank " + std::to_string(rank) +
                        " sent no list of objects, so it is in another call. All ranks must call "
                        "the same accel methods in the same order");
    }
    std::move(theirs->begin(), theirs->end(), std::back_inserter(all));
  }
  return all;
}

std::string Collectives::broadcast_object(const std::string& object, int from_process) const {
  check_process("broadcast_object", from_process);
  if (!processes_.use_distributed()) return object;
  const auto operation = processes_.begin_operation("broadcast_object");
  return processes_.state().communicator->broadcast_bytes(object, from_process);
}

}  // namespace accel::runtime
