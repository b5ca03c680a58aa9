// The Accelerator's collectives on tensors, structures of tensors, and bytes.
#pragma once

#include <torch/enum.h>

#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "accel/nested.h"
#include "accel/options.h"

namespace accel::runtime {

class ProcessControl;

// The reduction of Collectives::reduce(): torch::kSum, torch::kMean, torch::kMax or torch::kNone.
using Reduction = std::variant<torch::enumtype::kSum, torch::enumtype::kMean, torch::enumtype::kMax,
                               torch::enumtype::kNone>;

// The part of an Accelerator that exchanges data between the processes. accel/accelerator.h
// documents the methods. Not thread-safe.
class Collectives {
 public:
  // `processes` must outlive this object.
  explicit Collectives(const ProcessControl& processes) : processes_(processes) {}

  template <nested_tensors T>
  T gather(const T& value) const {
    return with_tensors(value, gather_each(tensors_of(value), "gather"));
  }
  at::Tensor gather_for_metrics(const at::Tensor& tensor) const;
  std::vector<std::string> gather_for_metrics(const std::vector<std::string>& objects) const;
  auto gather_for_metrics(const tensor_structure auto& value) const {
    return map_tensors(value, [&](const at::Tensor& t) { return gather_for_metrics(t); });
  }
  auto gather_for_metrics(const auto& first, const auto& second, const auto&... rest) const {
    return std::tuple{gather_for_metrics(first), gather_for_metrics(second),
                      gather_for_metrics(rest)...};
  }
  template <nested_tensors T>
  T reduce(const T& value, Reduction reduction) const {
    return with_tensors(value, reduce_each(tensors_of(value), reduction));
  }
  template <nested_tensors T>
  T broadcast(const T& value, int from_process) const {
    return with_tensors(value, broadcast_each(tensors_of(value), from_process));
  }
  template <nested_tensors T>
  T pad(const T& value, const PadOptions& options) const {
    return with_tensors(value, pad_each(tensors_of(value), options));
  }
  std::vector<std::string> gather_object(const std::vector<std::string>& objects) const;
  std::string broadcast_object(const std::string& object, int from_process) const;

 private:
  using Tensors = std::vector<at::Tensor>;

  void check_process(const char* operation, int process) const;
  Tensors gather_each(Tensors tensors, const char* operation) const;
  Tensors reduce_each(Tensors tensors, Reduction reduction) const;
  Tensors broadcast_each(Tensors tensors, int from_process) const;
  Tensors pad_each(Tensors tensors, const PadOptions& options) const;
  at::Tensor reduce_one(const at::Tensor& tensor, Reduction reduction) const;

  const ProcessControl& processes_;
};

}  // namespace accel::runtime
