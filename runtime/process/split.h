// Accelerator::split_between_processes(): splits a tensor (its rows), a std::vector (its items), or
// a std::map by name, std::pair or std::tuple of these, all of one length and split alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "accel/nested.h"
#include "runtime/core/share.h"

namespace accel {

namespace nested_internal {

// Calls `f(sequence)` for each tensor and vector.
template <typename T, typename F>
void visit_sequences(const T& value, F&& f) {
  if constexpr (is_map<T>) {
    for (const auto& item : value) visit_sequences(item.second, f);
  } else if constexpr (is_tuple<T>) {
    std::apply([&](const auto&... items) { (visit_sequences(items, f), ...); }, value);
  } else {
    static_assert(is_vector<T> || std::is_same_v<T, at::Tensor>,
                  "only tensors, vectors, and maps, pairs and tuples of these can be split");
    f(value);
  }
}

template <typename T>
T part_of(const T& value, const Share& share) {
  if constexpr (is_map<T>) {
    T out;
    for (const auto& [name, item] : value) out.emplace(name, part_of(item, share));
    return out;
  } else if constexpr (is_tuple<T>) {
    return std::apply([&](const auto&... items) { return T{part_of(items, share)...}; }, value);
  } else if constexpr (is_vector<T>) {
    T out(value.begin() + static_cast<std::ptrdiff_t>(share.begin),
          value.begin() + static_cast<std::ptrdiff_t>(share.end));
    if (!value.empty()) out.insert(out.end(), share.padding, value.back());
    return out;
  } else {
    const auto begin = static_cast<std::int64_t>(share.begin);
    const auto end = static_cast<std::int64_t>(share.end);
    const at::Tensor part = value.slice(0, begin, end);
    if (share.padding == 0 || value.size(0) == 0) return part;
    std::vector<std::int64_t> shape = value.sizes().vec();
    shape[0] = end - begin + 1;  // A share has one padding at most.
    at::Tensor padded = value.new_empty(shape);
    padded.slice(0, 0, end - begin).copy_(part);
    padded.slice(0, end - begin).copy_(value.slice(0, -1));
    return padded;
  }
}

}  // namespace nested_internal

// Returns the length of the sequences in `value`. Throws std::invalid_argument if there is none, if
// lengths differ, or if a tensor has no dimension.
template <typename T>
std::size_t common_length(const T& value) {
  std::vector<std::size_t> lengths;
  nested_internal::visit_sequences(value, [&](const auto& sequence) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(sequence)>, at::Tensor>) {
      if (sequence.dim() == 0) throw std::invalid_argument("a 0-dim tensor cannot be split");
      lengths.push_back(static_cast<std::size_t>(sequence.size(0)));
    } else {
      lengths.push_back(sequence.size());
    }
  });
  if (lengths.empty()) throw std::invalid_argument("nothing to split between the processes");
  for (const std::size_t length : lengths) {
    if (length != lengths[0]) {
      throw std::invalid_argument("All values to split must have the same length, not " +
                                  std::to_string(lengths[0]) + " and " + std::to_string(length));
    }
  }
  return lengths[0];
}

// Returns the part of `value` that belongs to process `process_index`.
template <typename T>
T split_between(int num_processes, int process_index, const T& value, bool apply_padding) {
  if (num_processes == 1) return value;
  const Share share = share_of(common_length(value), static_cast<std::size_t>(num_processes),
                               static_cast<std::size_t>(process_index), apply_padding);
  return nested_internal::part_of(value, share);
}

}  // namespace accel
