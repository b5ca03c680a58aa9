#include "cli/config/core/read_value.h"

#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "cli/render/escape.h"
#include "common/suggest.h"

namespace accel::cli {
namespace {

std::vector<std::string> Choices(const Setting& setting) {
  if (setting.choices.empty()) return {};
  return absl::StrSplit(setting.choices, '|');
}

// Returns true if `text` is one of the choices in any case.
bool IsChoice(const Setting& setting, absl::string_view text) {
  for (const std::string& choice : Choices(setting)) {
    if (absl::EqualsIgnoreCase(choice, text)) return true;
  }
  return false;
}

absl::Status Refuse(const Setting& setting, absl::string_view text) {
  std::string shown(text.substr(0, 80));
  if (setting.name == "mixed_precision") {
    return absl::InvalidArgumentError(
        absl::StrCat("Unknown mixed_precision mode: ", EscapeControls(shown), "; it must be ",
                     Expected(setting)));
  }
  std::string nearest = common::Nearest(shown, Choices(setting));
  if (nearest.empty()) nearest = common::Nearest(absl::AsciiStrToUpper(shown), Choices(setting));
  return absl::InvalidArgumentError(
      absl::StrCat("it is \"", EscapeControls(shown), "\" and must be ", Expected(setting),
                   nearest.empty() ? "" : absl::StrCat("; did you mean ", nearest, "?")));
}

absl::StatusOr<Value> ReadText(const Setting& setting, Value value) {
  // Without quotes, YAML reads `no` as false. Users mean the word, if it is a choice.
  const bool* truth = value.As<bool>();
  if (truth != nullptr && !*truth && IsChoice(setting, "no")) {
    return Value{std::string(setting.name == "distributed_type" ? "NO" : "no")};
  }
  const std::string text = PythonText(value);
  if (!setting.choices.empty() && !IsChoice(setting, text)) return Refuse(setting, text);
  return value;
}

absl::StatusOr<Value> ReadTruth(const Setting& setting, Value value) {
  const std::string text = PythonText(value);
  const std::optional<bool> truth = ParseTruth(text);
  if (!truth.has_value()) return Refuse(setting, text);
  if (setting.kind == Kind::kBool) return Value{*truth};
  if (setting.kind == Kind::kBit && value.As<bool>() == nullptr) return Value{int64_t{*truth}};
  return value;
}

absl::StatusOr<Value> ReadNumber(const Setting& setting, Value value) {
  const std::string text = PythonText(value);
  int64_t whole = 0;
  double real = 0;
  if (!setting.choices.empty() && IsChoice(setting, text)) return value;
  if (value.As<bool>() != nullptr) return Refuse(setting, text);
  if (setting.kind == Kind::kInt) {
    if (absl::SimpleAtoi(text, &whole)) return Value{whole};
    // Accelerate's guides write 1e8, which is a text in YAML, and which workers cannot read.
    if (absl::SimpleAtod(text, &real) && std::floor(real) == real && std::fabs(real) < 1e15) {
      return Value{static_cast<int64_t>(real)};
    }
    return Refuse(setting, text);
  }
  if (absl::SimpleAtod(text, &real)) return value;
  return Refuse(setting, text);
}

}  // namespace

absl::StatusOr<Value> ReadFileValue(const Setting& setting, const Value& value) {
  if (value.is_null()) return value;
  if (value.As<std::vector<Value>>() != nullptr && setting.kind != Kind::kNames) {
    return absl::InvalidArgumentError(absl::StrCat("it is a list and must be ", Expected(setting)));
  }
  switch (setting.kind) {
    case Kind::kBool:
    case Kind::kTruth:
    case Kind::kBit:
      return ReadTruth(setting, value);
    case Kind::kInt:
    case Kind::kFloat:
      return ReadNumber(setting, value);
    case Kind::kText:
      return ReadText(setting, value);
    case Kind::kNames:
      break;
  }
  return value;
}

absl::StatusOr<Value> ReadFlagValue(const Setting& setting, absl::string_view text) {
  if (setting.name == "nnodes" && absl::StrContains(text, ':')) {
    const std::pair<absl::string_view, absl::string_view> range =
        absl::StrSplit(text, absl::MaxSplits(':', 1));
    // torchrun's users write N:N for N machines.
    int64_t machines = 0;
    if (range.first == range.second && absl::SimpleAtoi(range.first, &machines)) {
      return Value{machines};
    }
    return absl::InvalidArgumentError(
        absl::StrCat("a launch has a fixed number of machines; a cluster takes a range: accel "
                     "submit --nodes ",
                     EscapeControls(text.substr(0, 80))));
  }
  int64_t whole = 0;
  if (setting.kind == Kind::kInt && setting.choices.empty() && !absl::SimpleAtoi(text, &whole)) {
    return Refuse(setting, text);
  }
  auto value = ReadFileValue(setting, Value{std::string(text)});
  if (!value.ok() || setting.kind != Kind::kFloat) return value;
  // Accelerate's flags convert: `--gradient_clipping 1` reaches workers as 1.0.
  double real = 0;
  if (absl::SimpleAtod(text, &real)) return Value{real};
  return value;
}

std::string Expected(const Setting& setting) {
  const std::vector<std::string> choices = Choices(setting);
  std::string one_of;
  for (size_t i = 0; i < choices.size(); ++i) {
    absl::StrAppend(&one_of, i == 0 ? "" : i + 1 < choices.size() ? ", " : " or ", choices[i]);
  }
  switch (setting.kind) {
    case Kind::kBool:
    case Kind::kTruth:
    case Kind::kBit:
      return "true or false";
    case Kind::kInt:
      return absl::StrCat("a whole number", one_of.empty() ? "" : " or ", one_of);
    case Kind::kFloat:
      return absl::StrCat("a number", one_of.empty() ? "" : " or ", one_of);
    case Kind::kText:
      return one_of.empty() ? "a text" : one_of;
    case Kind::kNames:
      break;
  }
  return "names with commas, or a list";
}

}  // namespace accel::cli
