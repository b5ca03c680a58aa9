#include "cli/config/core/write_config.h"

#include <algorithm>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace accel::cli {
namespace {

// Returns the values by section. The top level has an empty name.
ConfigTree BySection(const std::vector<FileSetting>& settings) {
  ConfigTree sections;
  for (const FileSetting& given : settings) {
    if (given.value.is_null()) continue;
    sections[std::string(given.setting->section)][std::string(given.setting->name)] = given.value;
  }
  return sections;
}

std::string DoubleQuoted(absl::string_view text) {
  std::string quoted = "\"";
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      absl::StrAppend(&quoted, "\\", std::string(1, c));
    } else if (byte < 0x20) {
      absl::StrAppend(&quoted, "\\u00", absl::Hex(byte, absl::kZeroPad2));
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

// Returns true if YAML reads the text back unchanged without quotes.
bool IsPlain(absl::string_view text) {
  if (text.empty() || !(PlainScalar(text) == Value{std::string(text)})) return false;
  const bool safe_start = std::isalnum(static_cast<unsigned char>(text[0])) != 0 ||
                          text[0] == '/' || text[0] == '_' || text[0] == '.';
  return safe_start && text.back() != ' ' && text.back() != ':' && !absl::StrContains(text, ": ") &&
         !absl::StrContains(text, " #") && std::none_of(text.begin(), text.end(), [](char c) {
           return static_cast<unsigned char>(c) < 0x20;
         });
}

std::string Text(absl::string_view text, bool json) {
  if (json) return DoubleQuoted(text);
  if (IsPlain(text)) return std::string(text);
  const bool has_control = std::any_of(text.begin(), text.end(),
                                       [](char c) { return static_cast<unsigned char>(c) < 0x20; });
  if (has_control) return DoubleQuoted(text);
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "''"}}), "'");
}

std::string Printed(const Value& value, bool json) {
  if (const bool* truth = value.As<bool>()) return *truth ? "true" : "false";
  if (const std::string* text = value.As<std::string>()) return Text(*text, json);
  if (const auto* list = value.As<std::vector<Value>>()) {
    std::string text = "[";
    for (const Value& one : *list) {
      absl::StrAppend(&text, text.size() > 1 ? ", " : "", Printed(one, json));
    }
    return text + "]";
  }
  return PythonText(value);
}

std::string YamlText(const ConfigTree& tree) {
  // Each key of the file with its lines, so that sections stand among the other keys.
  std::map<std::string, std::string> lines;
  for (const auto& [section, keys] : tree) {
    if (section.empty()) {
      for (const auto& [name, value] : keys) {
        lines[name] = absl::StrCat(name, ": ", Printed(value, false), "\n");
      }
      continue;
    }
    std::string& text = lines[section];
    absl::StrAppend(&text, section, keys.empty() ? ": {}\n" : ":\n");
    for (const auto& [name, value] : keys) {
      absl::StrAppend(&text, "  ", name, ": ", Printed(value, false), "\n");
    }
  }
  std::string text;
  for (const auto& [name, block] : lines) text += block;
  return text;
}

std::string JsonText(const ConfigTree& tree) {
  std::map<std::string, std::string> entries;
  for (const auto& [section, keys] : tree) {
    if (section.empty()) {
      for (const auto& [name, value] : keys) entries[name] = Printed(value, true);
      continue;
    }
    std::string& text = entries[section];
    if (keys.empty()) text.push_back('{');
    for (const auto& [name, value] : keys) {
      absl::StrAppend(&text, text.empty() ? "{\n" : ",\n", "    ", DoubleQuoted(name), ": ",
                      Printed(value, true));
    }
    absl::StrAppend(&text, keys.empty() ? "}" : "\n  }");
  }
  std::string text = "{";
  for (const auto& [name, entry] : entries) {
    absl::StrAppend(&text, text.size() > 1 ? ",\n  " : "\n  ", DoubleQuoted(name), ": ", entry);
  }
  return text + "\n}\n";
}

}  // namespace

std::string WriteTree(absl::string_view path, const ConfigTree& tree) {
  return absl::EndsWith(path, ".json") ? JsonText(tree) : YamlText(tree);
}

std::string WriteConfig(absl::string_view path, const std::vector<FileSetting>& settings) {
  return WriteTree(path, BySection(settings));
}

void AddMissingDefaults(std::vector<FileSetting>* settings) {
  for (const char* name : {"compute_environment", "debug", "enable_cpu_affinity", "machine_rank",
                           "main_training_function", "mixed_precision", "num_machines",
                           "rdzv_backend", "same_network", "use_cpu"}) {
    const bool given = std::any_of(settings->begin(), settings->end(), [&](const FileSetting& one) {
      return one.setting->name == name;
    });
    if (!given) settings->push_back({&GetSetting(name), DefaultOf(GetSetting(name)), {}});
  }
}

}  // namespace accel::cli
