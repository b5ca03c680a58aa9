// A value of a configuration file or flag, typed as Accelerate's reader types it.
//
// Accelerate reads its files with PyYAML and passes values to workers as Python prints them. This
// file follows both rules, because scripts read the result. For example, `true` in a file reaches a
// worker as "True".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"

namespace accel::cli {

struct Value {
  // The first alternative is null: a key without a value, which counts as unset.
  std::variant<std::monostate, bool, int64_t, double, std::string, std::vector<Value>> data;

  bool is_null() const { return std::holds_alternative<std::monostate>(data); }
  template <typename T>
  const T* As() const {
    return std::get_if<T>(&data);
  }
  friend bool operator==(const Value& a, const Value& b) { return a.data == b.data; }
};

// Returns the value of a plain (unquoted) YAML scalar by the rules of YAML 1.1: "yes" is true,
// "1e8" is text, "010" is 8.
Value PlainScalar(absl::string_view text);

// Returns the value as Python's str() prints it: "True", "1.0", "None", "['a', 'b']".
std::string PythonText(const Value& value);

// Parses y, yes, t, true, on and 1, or n, no, f, false, off and 0, in any case. Returns nullopt for
// any other text.
std::optional<bool> ParseTruth(absl::string_view text);

// Returns true if the value is null, false, 0, empty, or a text that means false.
bool IsFalse(const Value& value);

}  // namespace accel::cli
