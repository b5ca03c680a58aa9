#include "runtime/collectives.h"

#include <algorithm>
#include <stdexcept>

namespace accel {

std::vector<torch::Tensor> Collectives::gather_each(std::vector<torch::Tensor> tensors,
                                                    const char* name) const {
  if (!use_distributed()) return tensors;
  const auto operation = begin_operation(name, tensors);
  for (torch::Tensor& tensor : tensors) tensor = state_->communicator->all_gather(tensor);
  return tensors;
}

torch::Tensor Collectives::gather_for_metrics(const torch::Tensor& tensor) const {
  torch::Tensor all = gather_each({tensor}, "gather_for_metrics").front();
  const StepSamples* position = state_->loaders->current();
  if (!use_distributed() || position == nullptr) return all;
  const bool row_per_sample =
      tensor.dim() > 0 && all.size(0) == static_cast<std::int64_t>(position->padded_samples);
  return row_per_sample ? all.narrow(0, 0, static_cast<std::int64_t>(position->real_samples)) : all;
}

std::vector<std::string> Collectives::gather_for_metrics(
    const std::vector<std::string>& objects) const {
  std::vector<std::string> all = gather_object(objects);
  const StepSamples* position = state_->loaders->current();
  if (use_distributed() && position != nullptr && all.size() == position->padded_samples) {
    all.resize(position->real_samples);
  }
  return all;
}

torch::Tensor Collectives::reduce_one(const torch::Tensor& tensor, Reduction reduction) const {
  torch::Tensor result = tensor.detach().clone(torch::MemoryFormat::Contiguous);
  if (!use_distributed() || std::holds_alternative<torch::enumtype::kNone>(reduction)) {
    return result;
  }
  const bool mean = std::holds_alternative<torch::enumtype::kMean>(reduction);
  if (mean && !tensor.is_floating_point() && !tensor.is_complex()) {
    throw std::invalid_argument(
        "the mean of integers is not an integer: reduce(tensor.to(torch::kFloat), kMean)");
  }
  if (std::holds_alternative<torch::enumtype::kMax>(reduction)) {
    state_->communicator->all_reduce_max(result);
    return result;
  }
  state_->communicator->all_reduce_sum(result);
  if (mean) result.div_(num_processes());
  return result;
}

std::vector<torch::Tensor> Collectives::reduce_each(std::vector<torch::Tensor> tensors,
                                                    Reduction reduction) const {
  const auto operation = begin_operation("reduce", tensors);
  for (torch::Tensor& tensor : tensors) tensor = reduce_one(tensor, reduction);
  return tensors;
}

// All would wait for a process that there is not.
void Collectives::check_process(const char* operation, int process) const {
  if (0 <= process && process < num_processes()) return;
  throw std::invalid_argument(std::string(operation) +
                              ": from_process = " + std::to_string(process) +
                              " should be from 0 to " + std::to_string(num_processes() - 1));
}

std::vector<torch::Tensor> Collectives::broadcast_each(std::vector<torch::Tensor> tensors,
                                                       int from_process) const {
  for (torch::Tensor& tensor : tensors) {
    tensor = tensor.detach().clone(torch::MemoryFormat::Contiguous);
  }
  check_process("broadcast", from_process);
  if (!use_distributed()) return tensors;
  const auto operation = begin_operation("broadcast", tensors);
  state_->communicator->broadcast(tensors, from_process);
  return tensors;
}

std::vector<torch::Tensor> Collectives::pad_each(std::vector<torch::Tensor> tensors,
                                                 const PadOptions& options) const {
  if (!use_distributed() || tensors.empty()) return tensors;
  const auto operation = begin_operation("pad_across_processes", tensors, options.dim);
  const auto has_dim = [&](const torch::Tensor& tensor) {
    return -tensor.dim() <= options.dim && options.dim < tensor.dim();
  };
  std::vector<std::int64_t> sizes;
  for (const torch::Tensor& tensor : tensors) {
    sizes.push_back(has_dim(tensor) ? tensor.size(options.dim) : 0);
  }
  const auto count = static_cast<std::int64_t>(sizes.size());
  torch::Tensor largest = torch::tensor(sizes, torch::kLong).to(device());
  state_->communicator->all_reduce_max(largest);
  largest = largest.cpu();
  for (std::int64_t i = 0; i < count; ++i) {
    torch::Tensor& tensor = tensors[static_cast<std::size_t>(i)];
    const std::int64_t missing =
        largest[i].item<std::int64_t>() - sizes[static_cast<std::size_t>(i)];
    if (!has_dim(tensor) || missing == 0) continue;
    std::vector<std::int64_t> shape = tensor.sizes().vec();
    shape[static_cast<std::size_t>(torch::maybe_wrap_dim(options.dim, tensor.dim()))] = missing;
    const torch::Tensor padding = torch::full(shape, options.pad_index, tensor.options());
    tensor = options.pad_first ? torch::cat({padding, tensor}, options.dim)
                               : torch::cat({tensor, padding}, options.dim);
  }
  return tensors;
}

std::vector<std::string> Collectives::gather_object(const std::vector<std::string>& objects) const {
  if (!use_distributed()) return objects;
  const auto operation = begin_operation("gather_object");
  // Each object with its length in front.
  std::string mine;
  for (const std::string& object : objects) {
    const std::uint64_t length = object.size();
    mine.append(reinterpret_cast<const char*>(&length), sizeof length).append(object);
  }
  std::vector<std::string> all;
  for (const std::string& bytes : state_->communicator->all_gather_bytes(mine)) {
    for (std::size_t at = 0; at < bytes.size();) {
      std::uint64_t length = 0;
      std::copy_n(bytes.data() + at, sizeof length, reinterpret_cast<char*>(&length));
      all.push_back(bytes.substr(at + sizeof length, length));
      at += sizeof length + length;
    }
  }
  return all;
}

std::string Collectives::broadcast_object(const std::string& object, int from_process) const {
  check_process("broadcast_object", from_process);
  if (!use_distributed()) return object;
  const auto operation = begin_operation("broadcast_object");
  return state_->communicator->broadcast_bytes(object, from_process);
}

}  // namespace accel
