// The walk over the tensors inside other values, for collectives, models and data loaders.
//
// The walk finds tensors, at any depth, in
//   - containers: std::vector, std::array, std::deque, maps (in their values) and other ranges
//   - std::optional, std::pair and std::tuple
//   - torch::data::Example, with a target or without one
//   - types with a const member `map_tensors(f)` that returns a copy of the object in which each
//     tensor `t` is replaced by `f(t)`
// The walk visits them in the order of the container or of the declaration, and in a std::map in
// the order of the keys. Other values are ignored.
//
// This header includes only LibTorch's tensor, because every file of every program includes it. It
// therefore recognises an Example by its members.
#pragma once

#include <ATen/core/Tensor.h>

#include <concepts>
#include <cstddef>
#include <functional>
#include <optional>
#include <ranges>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace accel {

namespace nested_internal {

// The function type with which a member map_tensors() is called. It is one type for all callers. A
// member map_tensors() may call accel::map_tensors() for values of the same class. With a new type
// for each call, it would be instantiated without end.
using Replace = std::function<at::Tensor(const at::Tensor&)>;

template <typename T>
concept maps_itself = requires(const T& value, const Replace& replace) {
  { value.map_tensors(replace) } -> std::same_as<T>;
};

template <typename T>
concept example = requires(T& value) {
  typename T::DataType;
  typename T::TargetType;
  value.data;
};
template <typename T>
concept has_target = requires(T& value) {
  value.target;
};

template <typename T>
concept optional_value = requires(T& value) {
  value.has_value();
  *value;
};

template <typename T>
concept map = std::ranges::range<T> && requires {
  typename T::key_type;
  typename T::mapped_type;
};
template <typename T>
concept unordered = requires {
  typename T::hasher;
};

// A range whose elements can hold tensors. The elements must be objects in memory, which those of
// c10::List, for example, are not.
template <typename T>
concept range =
    std::ranges::range<T> && std::is_lvalue_reference_v<std::ranges::range_reference_t<T>> &&
    std::is_class_v<std::ranges::range_value_t<T>> &&
    !std::same_as<std::ranges::range_value_t<T>, T>;

template <typename T>
concept tuple = requires {
  std::tuple_size<T>::value;
};

template <typename T, typename F>
void visit(T& value, F& f) {
  using Value = std::remove_const_t<T>;
  if constexpr (std::same_as<Value, at::Tensor>) {
    f(value);
  } else if constexpr (maps_itself<Value>) {
    const Replace replace = [&f](at::Tensor tensor) {
      f(tensor);
      return tensor;
    };
    Value mapped = value.map_tensors(replace);
    if constexpr (!std::is_const_v<T>) value = std::move(mapped);
  } else if constexpr (example<Value>) {
    visit(value.data, f);
    if constexpr (has_target<Value>) visit(value.target, f);
  } else if constexpr (optional_value<Value>) {
    if (value.has_value()) visit(*value, f);
  } else if constexpr (map<Value>) {
    for (auto& item : value) visit(item.second, f);
  } else if constexpr (range<Value>) {
    for (auto& item : value) visit(item, f);
  } else if constexpr (tuple<Value>) {
    std::apply([&f](auto&... items) { (visit(items, f), ...); }, value);
  }
}

// The facts about the tensors in a type that are known at compile time.
struct Contents {
  // True if the type holds nothing but tensors.
  bool only_tensors = false;
  // True if equal values yield their tensors in the same order.
  bool same_order = true;
  // The number of tensors. nullopt if the number differs between values of the type.
  std::optional<std::size_t> count = std::nullopt;
};

constexpr Contents both(const Contents& a, const Contents& b) {
  Contents sum{.only_tensors = a.only_tensors && b.only_tensors,
               .same_order = a.same_order && b.same_order};
  if (a.count && b.count) sum.count = *a.count + *b.count;
  return sum;
}

template <typename T>
constexpr Contents contents() {
  if constexpr (std::same_as<T, at::Tensor>) {
    return {.only_tensors = true, .count = 1};
  } else if constexpr (maps_itself<T>) {
    return {.only_tensors = true};
  } else if constexpr (example<T>) {
    if constexpr (has_target<T>) {
      return both(contents<typename T::DataType>(), contents<typename T::TargetType>());
    } else {
      return contents<typename T::DataType>();
    }
  } else if constexpr (optional_value<T>) {
    Contents inner = contents<std::remove_cvref_t<decltype(*std::declval<T&>())>>();
    inner.count = std::nullopt;
    return inner;
  } else if constexpr (map<T>) {
    Contents inner = contents<typename T::mapped_type>();
    inner.same_order = inner.same_order && !unordered<T>;
    inner.count = std::nullopt;
    return inner;
  } else if constexpr (tuple<T>) {
    return []<std::size_t... I>(std::index_sequence<I...>) {
      Contents all{.only_tensors = true, .count = 0};
      ((all = both(all, contents<std::remove_const_t<std::tuple_element_t<I, T>>>())), ...);
      return all;
    }
    (std::make_index_sequence<std::tuple_size_v<T>>());
  } else if constexpr (range<T>) {
    Contents inner = contents<std::ranges::range_value_t<T>>();
    inner.same_order = inner.same_order && !unordered<T>;
    inner.count = std::nullopt;
    return inner;
  } else {
    return {};
  }
}

}  // namespace nested_internal

// A type that holds tensors and nothing else, so that collectives can take it. Unordered containers
// do not qualify: the ranks would visit their tensors in different orders.
template <typename T>
concept nested_tensors = nested_internal::contents<T>()
.only_tensors&& nested_internal::contents<T>().same_order;
// A type of nested_tensors other than a tensor itself.
template <typename T>
concept tensor_structure = nested_tensors<T> && !std::same_as<T, at::Tensor>;
// A type of nested_tensors whose values all have the same number of tensors, for example a
// pair of tensors.
template <typename T>
concept fixed_tensors = nested_tensors<T> && nested_internal::contents<T>()
.count.has_value() && std::default_initializable<T>;

// Calls `f` with each tensor of `value`, including undefined ones. `f` takes a reference and may
// assign to it. If `value` is const, `f` takes a const reference.
template <typename T, typename F>
void for_each_tensor(T& value, F&& f) {
  nested_internal::visit(value, f);
}

// Returns a copy of `value` in which `f(tensor)` replaces each tensor.
template <typename T, typename F>
T map_tensors(T value, F&& f) {
  for_each_tensor(value, [&f](at::Tensor& tensor) { tensor = f(std::as_const(tensor)); });
  return value;
}

// Returns the tensors of `value` in the order of the walk.
template <typename T>
std::vector<at::Tensor> tensors_of(const T& value) {
  std::vector<at::Tensor> all;
  for_each_tensor(value, [&all](const at::Tensor& tensor) { all.push_back(tensor); });
  return all;
}

// Returns a copy of `value` in which `tensors` replace its own, in the order of the walk. The
// number of tensors must be the same.
template <typename T>
T with_tensors(T value, const std::vector<at::Tensor>& tensors) {
  auto next = tensors.begin();
  for_each_tensor(value, [&next](at::Tensor& tensor) { tensor = *next++; });
  return value;
}

}  // namespace accel
