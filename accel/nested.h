// Structures of tensors: a tensor, or a std::vector, std::map by name, std::pair, std::tuple,
// std::optional, torch::data::Example of structures, or a type with a member `map_tensors(f)` that
// returns itself with f called on each of its tensors.
#pragma once

#include <ATen/core/Tensor.h>

#include <concepts>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace accel {

namespace nested_internal {

template <typename T>
inline constexpr bool is_vector = false;
template <typename T>
inline constexpr bool is_vector<std::vector<T>> = true;
template <typename T>
inline constexpr bool is_map = false;
template <typename T>
inline constexpr bool is_map<std::map<std::string, T>> = true;
template <typename T>
inline constexpr bool is_optional = false;
template <typename T>
inline constexpr bool is_optional<std::optional<T>> = true;
template <typename T>
inline constexpr bool is_tuple = false;
template <typename... T>
inline constexpr bool is_tuple<std::tuple<T...>> = true;
template <typename A, typename B>
inline constexpr bool is_tuple<std::pair<A, B>> = true;

// A torch::data::Example, with a target or without: told by its members, to need no more headers.
template <typename T>
concept example = requires(const T& value) {
  typename T::DataType;
  typename T::TargetType;
  value.data;
};
template <typename T>
inline constexpr bool has_target = !std::is_void_v<typename T::TargetType>;

struct Identity {
  at::Tensor operator()(const at::Tensor& tensor) const { return tensor; }
};
template <typename T>
concept maps_itself = requires(const T& value) {
  { value.map_tensors(Identity()) } -> std::same_as<T>;
};

template <typename T>
constexpr bool is_nested() {
  if constexpr (std::is_same_v<T, at::Tensor> || maps_itself<T>) {
    return true;
  } else if constexpr (is_vector<T> || is_optional<T>) {
    return is_nested<typename T::value_type>();
  } else if constexpr (is_map<T>) {
    return is_nested<typename T::mapped_type>();
  } else if constexpr (is_tuple<T>) {
    return []<std::size_t... I>(std::index_sequence<I...>) {
      return (is_nested<std::tuple_element_t<I, T>>() && ...);
    }
    (std::make_index_sequence<std::tuple_size_v<T>>());
  } else if constexpr (example<T>) {
    if constexpr (has_target<T>) {
      return is_nested<typename T::DataType>() && is_nested<typename T::TargetType>();
    } else {
      return is_nested<typename T::DataType>();
    }
  } else {
    return false;
  }
}

// map_tensors() of any type; what can hold no tensor is copied.
template <typename T, typename F>
T map_any(const T& value, F& f) {
  if constexpr (std::is_same_v<T, at::Tensor>) {
    return f(value);
  } else if constexpr (is_vector<T>) {
    T out;
    out.reserve(value.size());
    for (const auto& item : value) out.push_back(map_any(item, f));
    return out;
  } else if constexpr (is_optional<T>) {
    return value ? T(map_any(*value, f)) : T();
  } else if constexpr (is_map<T>) {
    T out;
    for (const auto& [name, item] : value) out.emplace(name, map_any(item, f));
    return out;
  } else if constexpr (is_tuple<T>) {
    return std::apply([&](const auto&... items) { return T{map_any(items, f)...}; }, value);
  } else if constexpr (maps_itself<T>) {
    return value.map_tensors(f);
  } else if constexpr (example<T>) {
    T out(value);
    out.data = map_any(value.data, f);
    if constexpr (has_target<T>) out.target = map_any(value.target, f);
    return out;
  } else {
    return value;
  }
}

}  // namespace nested_internal

template <typename T>
concept nested_tensors = nested_internal::is_nested<T>();
// More than a tensor.
template <typename T>
concept tensor_structure = nested_tensors<T> && !std::is_same_v<T, at::Tensor>;

// `value` with `f(tensor)` in the place of each tensor, called in order: a map's by name.
template <nested_tensors T, typename F>
T map_tensors(const T& value, F&& f) {
  return nested_internal::map_any(value, f);
}

// The tensors of `value`, in map_tensors()'s order.
template <nested_tensors T>
std::vector<at::Tensor> tensors_of(const T& value) {
  std::vector<at::Tensor> all;
  map_tensors(value, [&](const at::Tensor& tensor) { return all.emplace_back(tensor); });
  return all;
}

// `value` with `tensors`, as many as it holds, in their place.
template <nested_tensors T>
T with_tensors(const T& value, const std::vector<at::Tensor>& tensors) {
  auto next = tensors.begin();
  return map_tensors(value, [&next](const at::Tensor&) { return *next++; });
}

}  // namespace accel
