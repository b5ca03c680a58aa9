#include "examples/bert_folder.h"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace examples {
namespace {

namespace fs = std::filesystem;
using json = nlohmann::json;

constexpr std::uint64_t kMaxBytes = 100 << 20;  // The longest text of JSON that is read.

[[noreturn]] void fail(const fs::path& file, const std::string& what) {
  throw std::runtime_error(file.string() + ": " + what);
}

// Reads a text of this size from the current place of a file, and parses it.
json parsed(std::ifstream& stream, std::uint64_t size, const fs::path& file) {
  if (size > kMaxBytes) fail(file, "has too much text to be one of Transformers");
  std::string text(size, '\0');
  if (!stream.read(text.data(), static_cast<std::streamsize>(size))) fail(file, "is cut short");
  json value = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!value.is_object()) fail(file, "has no JSON object where one is expected");
  return value;
}

json read_json(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) fail(file, "cannot be opened");
  return parsed(stream, fs::file_size(file), file);
}

// Reads the header of a safetensors file. Such a file begins with the size of the header in 8
// bytes, little-endian, and then has the header.
json read_header(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) fail(file, "cannot be opened");
  std::uint64_t size = 0;
  for (int shift = 0; shift < 64; shift += 8) {
    size |= static_cast<std::uint64_t>(stream.get() & 0xff) << shift;
  }
  if (!stream) fail(file, "is cut short");
  return parsed(stream, size, file);
}

void expect_text(const json& config, const char* key, const std::string& only,
                 const fs::path& file) {
  const json value = config.value(key, json(only));
  if (value != only) fail(file, std::string(key) + " should be " + only + ", not " + value.dump());
}

void read_number(const json& config, const char* key, std::int64_t least, std::int64_t most,
                 std::int64_t& to, const fs::path& file) {
  const json value = config.value(key, json(to));
  if (!value.is_number_integer() || value < least || value > most) {
    fail(file, std::string(key) + " should be a number from " + std::to_string(least) + " to " +
                   std::to_string(most) + ", not " + value.dump());
  }
  to = value.get<std::int64_t>();
}

void read_number(const json& config, const char* key, double& to, const fs::path& file) {
  const json value = config.value(key, json());
  if (value.is_null()) return;
  if (!value.is_number() || value < 0 || value > 1) {
    fail(file, std::string(key) + " should be a number from 0 to 1, not " + value.dump());
  }
  to = value.get<double>();
}

std::string name_of_today(std::string name) {
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"LayerNorm.gamma", "LayerNorm.weight"}, {"LayerNorm.beta", "LayerNorm.bias"}};
  for (const auto& [before, now] : kNames) {
    if (name.ends_with(before)) name.replace(name.size() - before.size(), before.size(), now);
  }
  return name;
}

}  // namespace

BertConfig read_bert_config(const std::string& folder) {
  const fs::path file = fs::path(folder) / "config.json";
  const json config = read_json(file);
  expect_text(config, "model_type", "bert", file);
  expect_text(config, "hidden_act", "gelu", file);
  expect_text(config, "position_embedding_type", "absolute", file);
  BertConfig read;
  const auto number = [&](const char* key, std::int64_t most, std::int64_t& to) {
    read_number(config, key, 1, most, to, file);
  };
  number("vocab_size", 10'000'000, read.vocab_size);
  number("hidden_size", 1 << 20, read.hidden_size);
  number("num_hidden_layers", 10'000, read.num_hidden_layers);
  number("num_attention_heads", 1 << 20, read.num_attention_heads);
  number("intermediate_size", 1 << 22, read.intermediate_size);
  number("max_position_embeddings", 1 << 20, read.max_position_embeddings);
  number("type_vocab_size", 1 << 20, read.type_vocab_size);
  const json labels = config.value("id2label", json::object());
  if (!labels.empty()) read.num_labels = static_cast<std::int64_t>(labels.size());
  read_number(config, "layer_norm_eps", read.layer_norm_eps, file);
  read_number(config, "initializer_range", read.initializer_range, file);
  read_number(config, "hidden_dropout_prob", read.hidden_dropout_prob, file);
  read_number(config, "attention_probs_dropout_prob", read.attention_probs_dropout_prob, file);
  read.classifier_dropout = read.hidden_dropout_prob;
  read_number(config, "classifier_dropout", read.classifier_dropout, file);
  if (read.hidden_size % read.num_attention_heads != 0) {
    fail(file, "hidden_size should be a multiple of num_attention_heads");
  }
  return read;
}

void write_bert_config(const std::string& from, const std::string& to, std::int64_t num_labels) {
  json config = read_json(fs::path(from) / "config.json");
  config["architectures"] = json::array({"BertForSequenceClassification"});
  const json labels = config.value("id2label", json::object());
  if (labels.size() != static_cast<std::size_t>(num_labels)) {
    config["id2label"] = config["label2id"] = json::object();
    for (std::int64_t i = 0; i < num_labels; ++i) {
      const std::string name = "LABEL_" + std::to_string(i);
      config["id2label"][std::to_string(i)] = name;
      config["label2id"][name] = i;
    }
  }
  const fs::path file = fs::path(to) / "config.json";
  if (!(std::ofstream(file) << config.dump(2) << std::endl)) fail(file, "cannot be written");
}

std::set<std::string> names_of_weights(const std::string& folder) {
  const fs::path index = fs::path(folder) / "model.safetensors.index.json";
  const json list = fs::exists(index) ? read_json(index).value("weight_map", json::object())
                                      : read_header(fs::path(folder) / "model.safetensors");
  std::set<std::string> names;
  for (const auto& [name, value] : list.items()) {
    if (name != "__metadata__") names.insert(name_of_today(name));
  }
  return names;
}

}  // namespace examples
