// Operations on batches: tensors, torch::data examples, and structures of these.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>
#include <torch/data/example.h>

#include <concepts>
#include <cstddef>
#include <ranges>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace accel {

// Puts `f(tensor)` in the place of each defined tensor in `batch`: in examples, in containers,
// maps, tuples, pairs and optionals of any depth, and in types with a member `map_tensors(f)` that
// returns itself with f called on each of its tensors. Anything else stays as it is.
template <typename T, typename F>
void replace_tensors(T& batch, const F& f) {
  const auto replace = [&f](auto&... parts) { (replace_tensors(parts, f), ...); };
  if constexpr (std::is_const_v<T>) {  // A map's key.
  } else if constexpr (std::same_as<T, at::Tensor>) {
    if (batch.defined()) batch = f(batch);
  } else if constexpr (requires {
                         { batch.map_tensors(f) } -> std::same_as<T>;
                       }) {
    batch = batch.map_tensors([&f](const at::Tensor& t) { return t.defined() ? f(t) : t; });
  } else if constexpr (requires {
                         typename T::DataType;
                         batch.data;
                         batch.target;
                       }) {
    replace(batch.data, batch.target);
  } else if constexpr (requires {
                         typename T::DataType;
                         batch.data;
                       }) {
    replace(batch.data);
  } else if constexpr (requires { std::tuple_size<T>::value; }) {
    std::apply(replace, batch);
  } else if constexpr (requires {
                         batch.has_value();
                         *batch;
                       }) {
    if (batch.has_value()) replace(*batch);
  } else if constexpr (std::ranges::range<T>) {
    using Part = std::ranges::range_value_t<T>;
    if constexpr (std::is_class_v<Part> && !std::same_as<Part, T>) {
      for (auto& part : batch) replace(part);
    }
  }
}

// What a batch is made of, sample by sample: rows of tensors (the first dimension), or elements of
// a vector.
//   count(batch)              the samples
//   slice(batch, begin, end)  samples [begin, end), sharing memory where it can
//   join(batches)             one after the other; at least one
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

// The tensors of a batch that is made of a fixed number of them, each with one row per sample: what
// can be scattered.
template <typename Batch>
struct BatchTensors {
  static constexpr bool fixed = false;
};

template <>
struct BatchTensors<at::Tensor> {
  static constexpr bool fixed = true;
  static std::vector<at::Tensor> of(at::Tensor batch) { return {std::move(batch)}; }
  static at::Tensor batch(std::vector<at::Tensor> tensors) { return std::move(tensors[0]); }
};

template <>
struct BatchTensors<torch::data::Example<>> {
  static constexpr bool fixed = true;
  static std::vector<at::Tensor> of(torch::data::Example<> batch) {
    return {std::move(batch.data), std::move(batch.target)};
  }
  static torch::data::Example<> batch(std::vector<at::Tensor> tensors) {
    return {std::move(tensors[0]), std::move(tensors[1])};
  }
};

template <>
struct BatchTensors<torch::data::TensorExample> {
  static constexpr bool fixed = true;
  static std::vector<at::Tensor> of(torch::data::TensorExample batch) {
    return {std::move(batch.data)};
  }
  static torch::data::TensorExample batch(std::vector<at::Tensor> tensors) {
    return {std::move(tensors[0])};
  }
};

}  // namespace accel
