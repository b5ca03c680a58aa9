// The tensors of architectures, as data.
#pragma once

#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace accel::cli {

// A number of an architecture for which a required key of config.json is not enough.
struct ConfigNumber {
  const char* name;
  // An expression for the number if the key is missing or null.
  const char* value;
  // If true, the key is not read, because the number follows from others.
  bool is_derived = false;
  // If not null, the key is a text. The number is 1 if the text begins with `prefix`, or else 0.
  const char* prefix = nullptr;
};

// The tensors of one module. Expressions are sums of products of numbers and of names: those of the
// architecture's numbers, or keys of config.json. An example is "2*hidden_size+1". Quotients are
// rounded down, and there are no parentheses.
struct ModuleRow {
  // The name may contain {EXPRESSION}, the number of layers. The row is then repeated
  // for each layer.
  const char* name;
  const char* weight;      // Number of elements.
  const char* bias = "0";  // Number of elements of a second tensor. 0 if there is none.
  bool is_int64 = false;   // The elements are integers, for example positions.
};

struct Architecture {
  const char* type;  // The key model_type of config.json.
  std::vector<absl::Span<const ModuleRow>> rows;
  std::vector<ConfigNumber> numbers;
  // If true, the model may be split at each module. Otherwise a block is the smallest layer.
  bool has_no_blocks = false;
  // The part of a head that is rotated if config.json does not have it. 0 if the architecture
  // always rotates whole heads, or never rotates heads.
  double rotary_part = 0;
};

// Returns all architectures, in the order of their names.
absl::Span<const Architecture> Architectures();

}  // namespace accel::cli
