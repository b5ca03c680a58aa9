// What a run reports: numbers by name, and its configuration.
#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <variant>

namespace accel {

// A number, a truth or a text.
class TrackedValue {
 public:
  using Variant = std::variant<bool, std::int64_t, double, std::string>;

  TrackedValue(bool value) : value_(value) {}
  template <std::integral Integer>
  TrackedValue(Integer value) : value_(static_cast<std::int64_t>(value)) {}
  template <std::floating_point Float>
  TrackedValue(Float value) : value_(static_cast<double>(value)) {}
  TrackedValue(const char* text) : value_(std::string(text)) {}
  TrackedValue(std::string text) : value_(std::move(text)) {}

  const Variant& get() const { return value_; }

 private:
  Variant value_;
};

using TrackedValues = std::map<std::string, TrackedValue>;

}  // namespace accel
