#include "cli/estimate/core/architectures.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "cli/estimate/core/architecture_table.h"
#include "cli/estimate/core/config_numbers.h"
#include "cli/estimate/core/parse_json.h"
#include "cli/render/escape.h"
#include "common/status_macros.h"

namespace accel::cli {
namespace {

using nlohmann::json;

constexpr uint64_t kMaxLayers = 4096;

const Architecture* FindArchitecture(absl::string_view type) {
  for (const Architecture& one : Architectures()) {
    if (one.type == type) return &one;
  }
  return nullptr;
}

// Collects the tensors of modules.
class Builder {
 public:
  Builder(const Architecture& architecture, ConfigNumbers* numbers)
      : architecture_(architecture), numbers_(*numbers) {}

  // Adds the tensors of a row, for each layer if its name has "{…}".
  void AddRow(const ModuleRow& row) {
    const uint64_t weight = numbers_.Eval(row.weight), bias = numbers_.Eval(row.bias);
    const std::vector<std::string> parts = absl::StrSplit(row.name, absl::ByAnyChar("{}"));
    if (parts.size() != 3) return Add(row.name, weight, bias, row.is_int64);
    const uint64_t layers = numbers_.Eval(parts[1]);
    if (layers > kMaxLayers) return numbers_.Refuse(parts[1]);
    for (uint64_t i = 0; i < layers; ++i) {
      Add(absl::StrCat(parts[0], i, parts[2]), weight, bias, row.is_int64);
    }
  }

  // Adds the frequencies that rotate a part of each head, and the copy of them.
  void AddRotary() {
    const double part = numbers_.RotaryPart(architecture_.rotary_part);
    const double rotated = std::floor(static_cast<double>(numbers_.Eval("head_dim")) * part);
    Add("rotary_emb", 2 * static_cast<uint64_t>(std::ceil(rotated / 2)), 0, false);
  }

  std::vector<TensorSize> Take() { return std::move(tensors_); }

 private:
  void Add(const std::string& module, uint64_t weight, uint64_t bias, bool is_int64) {
    const std::string layer = architecture_.has_no_blocks ? module : "";
    const uint64_t integer_bytes = is_int64 ? sizeof(int64_t) : 0;
    for (const auto& [name, elements] : {std::pair("weight", weight), std::pair("bias", bias)}) {
      if (elements == 0) continue;
      tensors_.push_back({absl::StrCat(module, ".", name), elements, integer_bytes, layer});
    }
  }

  const Architecture& architecture_;
  ConfigNumbers& numbers_;
  std::vector<TensorSize> tensors_;
};

}  // namespace

std::string KnownArchitectures() {
  std::vector<absl::string_view> names;
  for (const Architecture& one : Architectures()) names.push_back(one.type);
  const absl::string_view last = names.back();
  names.pop_back();
  return absl::StrCat(absl::StrJoin(names, ", "), " and ", last);
}

absl::StatusOr<std::vector<TensorSize>> TensorsOfConfig(absl::string_view file,
                                                        absl::string_view text) {
  ACCEL_ASSIGN_OR_RETURN(const json config, ParseJson(file, text));
  if (!config.is_object() || !config.contains("model_type") || !config["model_type"].is_string()) {
    return absl::InvalidArgumentError(
        absl::StrCat(file, ": it has no model_type, so it describes no model of Transformers"));
  }
  const auto type = config["model_type"].get<std::string>();
  const Architecture* const architecture = FindArchitecture(type);
  if (architecture == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(file, ": the architecture ", EscapeControls(type.substr(0, 64)),
                     " is not known; known are ", KnownArchitectures(),
                     ". A safetensors file of the model works for every architecture."));
  }
  ConfigNumbers numbers(file, config, architecture->numbers);
  Builder builder(*architecture, &numbers);
  for (const auto& rows : architecture->rows) {
    for (const ModuleRow& row : rows) builder.AddRow(row);
  }
  if (architecture->rotary_part > 0) builder.AddRotary();
  if (!numbers.status().ok()) return numbers.status();
  return builder.Take();
}

}  // namespace accel::cli
