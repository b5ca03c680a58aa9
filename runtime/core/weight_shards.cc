// How weights are divided into files of limited size.
//
// The limit exists for those who move the files, because hubs, object stores and file systems
// refuse or slow down very large ones. The division is greedy and keeps the order of the weights,
// as in huggingface_hub: a file is closed as soon as the next weight does not fit. Packing by size
// would save a few files. But Python would not write the same files for the same model, and the
// weights of a layer would be scattered.
//
// A weight beyond the limit cannot be cut, because the format stores tensors whole. It becomes a
// file by itself, and the file that is being filled remains open for the next weight. With a limit
// of 10, the sizes 3, 11, 3 and 11 give the files {11}, {11} and {3, 3}.
//
// The number of files is part of each name, so names can only be given when all files are known.
#include "runtime/core/weight_shards.h"

#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <regex>
#include <stdexcept>
#include <utility>

#include "accel/errors.h"
#include "weights/core/parse_json.h"
#include "weights/core/shown.h"

namespace accel::runtime {
namespace {

std::uint64_t parse_size(const std::string& text) {
  const std::map<std::string, double> units{{"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}};
  char* rest = nullptr;
  const double number = std::strtod(text.c_str(), &rest);
  const bool has_number = rest != text.c_str();
  std::string unit;
  for (; *rest != '\0'; ++rest) {
    if (*rest != ' ') unit += static_cast<char>(std::toupper(static_cast<unsigned char>(*rest)));
  }
  const auto found = units.find(unit);
  // The limit is just below 2^63, so that the product fits. `!(number >= 0)` also refuses NaN.
  if (!has_number || found == units.end() || !(number >= 0) || number * found->second >= 9e18) {
    throw std::invalid_argument("\"" + text +
                                "\" is not a size: use an integer number of bytes, or a text "
                                "such as \"5GB\" (KB, MB, GB or TB)");
  }
  return static_cast<std::uint64_t>(number * found->second);
}

std::string shard_name(std::size_t number, std::size_t count) {
  char name[64];
  std::snprintf(name, sizeof name, "model-%05zu-of-%05zu.safetensors", number, count);
  return name;
}

}  // namespace

ByteSize::ByteSize(const char* text) : ByteSize(std::string(text)) {}
ByteSize::ByteSize(const std::string& text) : bytes(parse_size(text)) {}

std::vector<WeightFile> split_into_files(const std::vector<WeightSize>& weights,
                                         ByteSize max_shard_size) {
  std::vector<WeightFile> files;
  std::vector<std::size_t> open;
  std::uint64_t open_bytes = 0;
  const auto close = [&] {
    if (!open.empty()) files.push_back({.name = "", .weights = std::move(open)});
    open.clear();
    open_bytes = 0;
  };
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i].bytes > max_shard_size.bytes) {
      files.push_back({.name = "", .weights = {i}});
      continue;
    }
    if (open_bytes + weights[i].bytes > max_shard_size.bytes) close();
    open.push_back(i);
    open_bytes += weights[i].bytes;
  }
  close();
  if (files.empty()) files.emplace_back();
  for (std::size_t i = 0; i < files.size(); ++i) {
    files[i].name = files.size() == 1 ? kWeightsFile : shard_name(i + 1, files.size());
  }
  return files;
}

bool is_weights_file(std::string_view file) {
  static const std::regex shard(R"(model-\d{5}-of-\d{5}\.safetensors)");
  return file == kWeightsFile || file == kIndexFile ||
         std::regex_match(file.begin(), file.end(), shard);
}

std::string index_json(const std::vector<WeightSize>& weights,
                       const std::vector<WeightFile>& files) {
  nlohmann::json index;
  std::uint64_t total = 0;
  for (const WeightFile& file : files) {
    for (const std::size_t i : file.weights) {
      index["weight_map"][weights[i].name] = file.name;
      total += weights[i].bytes;
    }
  }
  index["metadata"]["total_size"] = total;
  // The same bytes as Python's json.dumps(): sorted keys, and only ASCII characters.
  return index.dump(2, ' ', /*ensure_ascii=*/true) + "\n";
}

std::map<std::string, std::string> parse_index(const std::string& text, const std::string& file) {
  const nlohmann::json index = weights::parse_json(text);
  if (!index.is_object() || !index.contains("weight_map") || !index["weight_map"].is_object()) {
    throw CheckpointError(file + ": it is not an index of weights: it has no \"weight_map\"");
  }
  std::map<std::string, std::string> files;
  for (const auto& [weight, value] : index["weight_map"].items()) {
    const std::string name = value.is_string() ? value.get<std::string>() : "";
    if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos) {
      throw CheckpointError(file + ": weight " + weights::shown(weight) + " is in " +
                            weights::shown(value.dump()) + ", which is not a file in this folder");
    }
    files[weight] = name;
  }
  return files;
}

}  // namespace accel::runtime
