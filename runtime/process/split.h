// Accelerator::split_between_processes(). It divides a tensor (its rows), a std::vector (its
// items), or a map, std::pair, std::tuple or std::array of these. All sequences in a value must
// have the same length, and are split at the same positions.
//
// The walk of accel/nested.h cannot be used, because it enters a vector, and here a
// vector is divided.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "accel/nested.h"
#include "runtime/core/share.h"

namespace accel::runtime {

namespace split_internal {

template <typename T>
inline constexpr bool is_vector = false;
template <typename T>
inline constexpr bool is_vector<std::vector<T>> = true;

// Calls `f(sequence)` for each tensor and each vector in `value`.
template <typename T, typename F>
void visit_sequences(const T& value, F&& f) {
  if constexpr (nested_internal::map<T>) {
    for (const auto& item : value) visit_sequences(item.second, f);
  } else if constexpr (nested_internal::tuple<T>) {
    std::apply([&](const auto&... items) { (visit_sequences(items, f), ...); }, value);
  } else {
    static_assert(
        is_vector<T> || std::is_same_v<T, at::Tensor>,
        "only tensors, vectors, and maps, pairs, tuples and arrays of these can be split");
    f(value);
  }
}

}  // namespace split_internal

// Returns the rows of `value` that `share` selects. If the share is padded, the last
// row is repeated.
inline at::Tensor part_of(const at::Tensor& value, const Share& share) {
  const auto begin = static_cast<std::int64_t>(share.begin);
  const auto end = static_cast<std::int64_t>(share.end);
  const at::Tensor part = value.slice(0, begin, end);
  if (share.padding == 0 || value.size(0) == 0) return part;
  std::vector<std::int64_t> shape = value.sizes().vec();
  shape[0] = end - begin + 1;  // At most one row is padding.
  at::Tensor padded = value.new_empty(shape);
  padded.slice(0, 0, end - begin).copy_(part);
  padded.slice(0, end - begin).copy_(value.slice(0, -1));
  return padded;
}

// Returns a copy of `value` with the part of each sequence that `share` selects. If the share is
// padded, the last item is repeated.
template <typename T>
T part_of(const T& value, const Share& share) {
  if constexpr (nested_internal::map<T>) {
    T out;
    for (const auto& [key, item] : value) out.emplace(key, part_of(item, share));
    return out;
  } else if constexpr (nested_internal::tuple<T>) {
    return std::apply([&](const auto&... items) { return T{part_of(items, share)...}; }, value);
  } else {
    T out(value.begin() + static_cast<std::ptrdiff_t>(share.begin),
          value.begin() + static_cast<std::ptrdiff_t>(share.end));
    if (!value.empty()) out.insert(out.end(), share.padding, value.back());
    return out;
  }
}

// Returns the length of the sequences in `value`. Throws std::invalid_argument if there is no
// sequence, if their lengths differ, or if a tensor has no dimension.
template <typename T>
std::size_t common_length(const T& value) {
  std::vector<std::size_t> lengths;
  split_internal::visit_sequences(value, [&](const auto& sequence) {
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
  return part_of(value, share);
}

}  // namespace accel::runtime
