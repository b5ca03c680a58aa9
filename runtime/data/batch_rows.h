// Batches that can be cut and joined by their samples.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>
#include <torch/data/example.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace accel::runtime {

// The samples of a batch of a stream: rows of tensors (their first dimension) or elements of a
// vector.
//   count(batch)              returns how many samples the batch has
//   slice(batch, begin, end)  returns samples [begin, end), which share the batch's memory if they
//                             are tensors
//   join(batches)             returns the samples of one or more batches in one batch
template <typename Batch>
struct BatchRows {
  static_assert(sizeof(Batch) == 0,
                "a stream's batches are tensors, examples of tensors, or vectors of any type");
};

template <>
struct BatchRows<at::Tensor> {
  static std::size_t count(const at::Tensor& batch) {
    return static_cast<std::size_t>(batch.size(0));
  }
  static at::Tensor slice(const at::Tensor& batch, std::size_t begin, std::size_t end) {
    return batch.narrow(0, static_cast<std::int64_t>(begin),
                        static_cast<std::int64_t>(end - begin));
  }
  static at::Tensor join(const std::vector<at::Tensor>& batches) { return at::cat(batches); }
};

template <typename T>
struct BatchRows<std::vector<T>> {
  using Batch = std::vector<T>;
  static std::size_t count(const Batch& batch) { return batch.size(); }
  static Batch slice(const Batch& batch, std::size_t begin, std::size_t end) {
    return Batch(batch.begin() + static_cast<std::ptrdiff_t>(begin),
                 batch.begin() + static_cast<std::ptrdiff_t>(end));
  }
  static Batch join(const std::vector<Batch>& batches) {
    Batch all;
    for (const Batch& batch : batches) all.insert(all.end(), batch.begin(), batch.end());
    return all;
  }
};

template <typename Data, typename Target>
struct BatchRows<torch::data::Example<Data, Target>> {
  using Batch = torch::data::Example<Data, Target>;
  static std::size_t count(const Batch& batch) { return BatchRows<Data>::count(batch.data); }
  static Batch slice(const Batch& batch, std::size_t begin, std::size_t end) {
    return {BatchRows<Data>::slice(batch.data, begin, end),
            BatchRows<Target>::slice(batch.target, begin, end)};
  }
  static Batch join(const std::vector<Batch>& batches) {
    std::vector<Data> data;
    std::vector<Target> target;
    for (const Batch& batch : batches) {
      data.push_back(batch.data);
      target.push_back(batch.target);
    }
    return {BatchRows<Data>::join(data), BatchRows<Target>::join(target)};
  }
};

template <typename Data>
struct BatchRows<torch::data::Example<Data, torch::data::example::NoTarget>> {
  using Batch = torch::data::Example<Data, torch::data::example::NoTarget>;
  static std::size_t count(const Batch& batch) { return BatchRows<Data>::count(batch.data); }
  static Batch slice(const Batch& batch, std::size_t begin, std::size_t end) {
    return {BatchRows<Data>::slice(batch.data, begin, end)};
  }
  static Batch join(const std::vector<Batch>& batches) {
    std::vector<Data> data;
    for (const Batch& batch : batches) data.push_back(batch.data);
    return {BatchRows<Data>::join(data)};
  }
};

}  // namespace accel::runtime
