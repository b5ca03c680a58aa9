#include "cli/estimate/core/model_sizes.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "cli/estimate/core/parse_json.h"
#include "cli/render/escape.h"
#include "common/status_macros.h"

namespace accel::cli {
namespace {

using nlohmann::json;

constexpr uint64_t kMaxBytes = uint64_t{1} << 63;
constexpr uint64_t kFloatBytes = 4;

absl::Status Malformed(absl::string_view file, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(file, ": ", what));
}

// Returns the layer that a tensor belongs to. Models of Transformers keep a module "embeddings"
// whole, as they keep their blocks.
std::string LayerOf(const std::string& name) {
  const std::vector<std::string> parts = absl::StrSplit(name, '.');
  for (size_t i = 0; i < parts.size(); ++i) {
    const bool number =
        !parts[i].empty() && std::all_of(parts[i].begin(), parts[i].end(), absl::ascii_isdigit);
    if (number || (parts[i] == "embeddings" && i + 1 < parts.size()))
      return absl::StrJoin(parts.begin(), parts.begin() + i + 1, ".");
  }
  if (parts.size() == 1) return name;
  return absl::StrJoin(parts.begin(), parts.end() - 1, ".");
}

// Returns the size of an element in bytes if the dtype is no float, or 0 for floats. nullopt if the
// dtype is not known.
std::optional<uint64_t> IntegerBytes(absl::string_view dtype) {
  static const auto* const kSizes = new std::map<std::string, uint64_t>{
      {"BOOL", 1}, {"U8", 1},  {"I8", 1},      {"I16", 2},     {"U16", 2},  {"I32", 4},
      {"U32", 4},  {"I64", 8}, {"U64", 8},     {"F16", 0},     {"BF16", 0}, {"F32", 0},
      {"F64", 0},  {"C64", 8}, {"F8_E4M3", 0}, {"F8_E5M2", 0},
  };
  const auto found = kSizes->find(std::string(dtype));
  return found == kSizes->end() ? std::nullopt : std::optional<uint64_t>(found->second);
}

absl::StatusOr<uint64_t> Elements(absl::string_view file, const json& shape) {
  uint64_t elements = 1;
  for (const json& size : shape) {
    uint64_t product = 0;
    if (!size.is_number_unsigned() ||
        __builtin_mul_overflow(elements, size.get<uint64_t>(), &product)) {
      return Malformed(file, "a tensor has a shape that is no list of sizes");
    }
    elements = product;
  }
  return elements;
}

}  // namespace

absl::StatusOr<ModelSizes> SizesOfTensors(const std::vector<TensorSize>& tensors) {
  ModelSizes sizes;
  std::map<std::string, uint64_t> layers;
  for (const TensorSize& tensor : tensors) {
    uint64_t bytes = 0;
    const uint64_t each = tensor.integer_bytes == 0 ? kFloatBytes : tensor.integer_bytes;
    if (__builtin_mul_overflow(tensor.elements, each, &bytes) ||
        __builtin_add_overflow(sizes.total, bytes, &sizes.total) || sizes.total >= kMaxBytes) {
      return absl::InvalidArgumentError("the sizes of the tensors are too large");
    }
    layers[tensor.layer.empty() ? LayerOf(tensor.name) : tensor.layer] += bytes;
  }
  for (const auto& [name, bytes] : layers) {
    if (bytes <= sizes.largest) continue;
    sizes.largest = bytes;
    sizes.largest_name = name;
  }
  return sizes;
}

absl::StatusOr<std::vector<TensorSize>> ReadSafetensorsHeader(absl::string_view file,
                                                              absl::string_view text) {
  const json header = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!header.is_object()) return Malformed(file, "its header is no JSON object");
  std::vector<TensorSize> tensors;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") continue;
    if (!entry.is_object() || !entry.contains("dtype") || !entry["dtype"].is_string() ||
        !entry.contains("shape") || !entry["shape"].is_array()) {
      return Malformed(file, "a tensor has no dtype or no shape");
    }
    const auto dtype = entry["dtype"].get<std::string>();
    const auto integer_bytes = IntegerBytes(dtype);
    if (!integer_bytes.has_value()) {
      return Malformed(file, absl::StrCat("unknown dtype ", EscapeControls(dtype.substr(0, 32))));
    }
    const auto elements = Elements(file, entry["shape"]);
    if (!elements.ok()) return elements.status();
    tensors.push_back({name, *elements, *integer_bytes});
  }
  return tensors;
}

absl::StatusOr<std::vector<std::string>> ReadIndex(absl::string_view file, absl::string_view text) {
  ACCEL_ASSIGN_OR_RETURN(const json index, ParseJson(file, text));
  if (!index.is_object() || !index.contains("weight_map") || !index["weight_map"].is_object()) {
    return Malformed(file, "it has no weight_map");
  }
  std::set<std::string> files;
  for (const auto& [name, value] : index["weight_map"].items()) {
    const std::string shard = value.is_string() ? value.get<std::string>() : "";
    if (shard.empty() || shard[0] == '/' || absl::StrContains(shard, "..")) {
      return Malformed(file, "its weight_map names a file outside of the folder");
    }
    files.insert(shard);
  }
  return std::vector<std::string>(files.begin(), files.end());
}

}  // namespace accel::cli
