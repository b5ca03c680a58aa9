// Collectives on tensors, structures of tensors, and bytes.
#pragma once

#include <torch/enum.h>
#include <torch/types.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "accel/nested.h"
#include "accel/options.h"
#include "runtime/core/call_check.h"
#include "runtime/process_control.h"

namespace accel {

// torch::kSum, torch::kMean, torch::kMax, or torch::kNone.
using Reduction = std::variant<torch::enumtype::kSum, torch::enumtype::kMean, torch::enumtype::kMax,
                               torch::enumtype::kNone>;

// The Accelerator's part that exchanges data between the processes.
//
// Its methods take a tensor or a structure of tensors, as runtime/nested.h says, built alike on all
// ranks, and give one of the same type. With `debug` they throw
// DistributedOperationError, with a table of what each rank brings, where the ranks do not fit
// together.
class Collectives : public ProcessControl {
 public:
  // [d0, ...] on each rank gives [N * d0, ...] in rank order; 0-dim gives [N]. The shape is the
  // same on all ranks. One process: unchanged. Collective: one all-gather for each tensor.
  template <nested_tensors T>
  T gather(const T& value) const {
    return with_tensors(value, gather_each(tensors_of(value), "gather"));
  }

  // gather() without the samples that even_batches repeated at the end of the loader that is being
  // iterated, so that each sample counts once. Only tensors with one row per sample are cut; a
  // 0-dim tensor is a number per rank, and of batches that differ in size, as of a batch sampler,
  // what pad_across_processes() added stays on all ranks.
  torch::Tensor gather_for_metrics(const torch::Tensor& tensor) const;
  template <typename... Tensors>
  requires(sizeof...(Tensors) > 1) auto gather_for_metrics(const Tensors&... tensors) const {
    return std::tuple{gather_for_metrics(tensors)...};
  }
  template <tensor_structure T>
  T gather_for_metrics(const T& value) const {
    return map_tensors(value, [&](const torch::Tensor& t) { return gather_for_metrics(t); });
  }

  // gather_object(), cut in the same way if the objects are one per sample.
  std::vector<std::string> gather_for_metrics(const std::vector<std::string>& objects) const;

  // Elementwise over the ranks, of tensors of one shape and dtype; the results are new tensors on
  // each rank. kNone copies. Throws std::invalid_argument for the mean of integers over several
  // processes. Collective: one all-reduce for each tensor.
  template <nested_tensors T>
  T reduce(const T& value, Reduction reduction = torch::kSum) const {
    return with_tensors(value, reduce_each(tensors_of(value), reduction));
  }

  // Copies of `from_process`'s tensors, of one shape and dtype on all ranks. Throws
  // std::invalid_argument if there is no such process. Collective: one broadcast per 25 MiB of a
  // dtype.
  template <nested_tensors T>
  T broadcast(const T& value, int from_process = 0) const {
    return with_tensors(value, broadcast_each(tensors_of(value), from_process));
  }

  // Each tensor made as long in one dimension as the longest of all ranks; a tensor without that
  // dimension stays. Collective: one all-reduce in all.
  template <nested_tensors T>
  T pad_across_processes(const T& value, const PadOptions& options = {}) const {
    return with_tensors(value, pad_each(tensors_of(value), options));
  }

  // All ranks' objects, any bytes and any number of them, in rank order. Collective: two
  // all-gathers.
  std::vector<std::string> gather_object(const std::vector<std::string>& objects) const;
  // `from_process`'s object. Throws as broadcast(). Collective: two broadcasts.
  std::string broadcast_object(const std::string& object, int from_process = 0) const;

 protected:
  using ProcessControl::ProcessControl;
  ~Collectives() = default;
  Collectives(const Collectives&) = default;
  Collectives& operator=(const Collectives&) = default;

 private:
  void check_process(const char* operation, int process) const;
  std::vector<torch::Tensor> gather_each(std::vector<torch::Tensor> tensors,
                                         const char* operation) const;
  std::vector<torch::Tensor> reduce_each(std::vector<torch::Tensor> tensors,
                                         Reduction reduction) const;
  std::vector<torch::Tensor> broadcast_each(std::vector<torch::Tensor> tensors,
                                            int from_process) const;
  std::vector<torch::Tensor> pad_each(std::vector<torch::Tensor> tensors,
                                      const PadOptions& options) const;
  torch::Tensor reduce_one(const torch::Tensor& tensor, Reduction reduction) const;
};

}  // namespace accel
