// The tensors of architectures, as data.
#pragma once

#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace accel::cli {

// A number that is not simply a required key of config.json.
struct ConfigNumber {
  const char* name;
  // An expression: the number if the key is missing or null.
  const char* value;
  // The key is not read, because the number follows from others.
  bool is_derived = false;
  // If not null, the key is a text, which counts as 1 if it begins with this and as 0 otherwise.
  const char* prefix = nullptr;
};

// The tensors of one module. Expressions are sums of products of numbers and of names: those of the
// architecture's numbers, or keys of config.json. An example is "2*hidden_size+1". Quotients are
// rounded down, and there are no parentheses.
struct ModuleRow {
  // {EXPRESSION} in the name is the number of layers. The row is repeated for each.
  const char* name;
  const char* weight;      // Number of elements.
  const char* bias = "0";  // Number of elements of a second tensor. 0 if there is none.
  bool is_int64 = false;   // The elements are integers, as those of positions are.
};

struct Architecture {
  const char* type;  // The key model_type of config.json.
  std::vector<absl::Span<const ModuleRow>> rows;
  std::vector<ConfigNumber> numbers;
  // The model may be split at each module. Otherwise a block is the smallest layer.
  bool has_no_blocks = false;
  // The part of a head that is rotated if config.json does not say it. 0 if the architecture always
  // rotates whole heads, or none.
  double rotary_part = 0;
};

// Returns all architectures, in the order of their names.
absl::Span<const Architecture> Architectures();

}  // namespace accel::cli
