#include "cli/config/core/value.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <initializer_list>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"

namespace accel::cli {
namespace {

bool IsOneOf(absl::string_view text, std::initializer_list<absl::string_view> words) {
  for (absl::string_view word : words) {
    if (text == word) return true;
  }
  return false;
}

// YAML accepts these words in three spellings: yes, Yes and YES.
bool IsSpelling(absl::string_view text, absl::string_view lower) {
  std::string capital(lower);
  capital[0] = absl::ascii_toupper(capital[0]);
  return text == lower || text == capital || text == absl::AsciiStrToUpper(lower);
}

std::optional<bool> PlainBool(absl::string_view text) {
  for (absl::string_view word : {"yes", "true", "on"}) {
    if (IsSpelling(text, word)) return true;
  }
  for (absl::string_view word : {"no", "false", "off"}) {
    if (IsSpelling(text, word)) return false;
  }
  return std::nullopt;
}

// Parses an integer of YAML 1.1. Base 60, such as "1:30", is left as text, because no setting is a
// time of the day.
std::optional<int64_t> PlainInt(absl::string_view text) {
  const bool negative = absl::ConsumePrefix(&text, "-");
  if (!negative) absl::ConsumePrefix(&text, "+");
  if (text.empty() || !absl::ascii_isdigit(text[0])) return std::nullopt;
  int base = 10;
  if (absl::ConsumePrefix(&text, "0x")) {
    base = 16;
  } else if (absl::ConsumePrefix(&text, "0b")) {
    base = 2;
  } else if (text.size() > 1 && text[0] == '0') {
    base = 8;
  }
  const std::string digits = absl::StrReplaceAll(text, {{"_", ""}});
  int64_t number = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), number, base);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return negative ? -number : number;
}

// Parses a float of YAML 1.1, which has a point, and a sign in its exponent if it has one.
std::optional<double> PlainFloat(absl::string_view text) {
  absl::string_view rest = text;
  const bool negative = absl::ConsumePrefix(&rest, "-");
  if (!negative) absl::ConsumePrefix(&rest, "+");
  if (IsOneOf(rest, {".inf", ".Inf", ".INF"})) return negative ? -HUGE_VAL : HUGE_VAL;
  if (IsOneOf(text, {".nan", ".NaN", ".NAN"})) return std::nan("");
  const size_t point = rest.find('.');
  if (point == absl::string_view::npos) return std::nullopt;
  const size_t exponent = rest.find_first_of("eE");
  for (size_t i = 0; i < std::min(exponent, rest.size()); ++i) {
    if (i != point && rest[i] != '_' && !absl::ascii_isdigit(rest[i])) return std::nullopt;
  }
  if (exponent != absl::string_view::npos &&
      (exponent + 2 >= rest.size() || !IsOneOf(rest.substr(exponent + 1, 1), {"+", "-"}))) {
    return std::nullopt;
  }
  double number = 0;
  if (!absl::SimpleAtod(absl::StrReplaceAll(text, {{"_", ""}}), &number)) return std::nullopt;
  return number;
}

// Prints the shortest text that is read back as the same number, in Python's layout: without an
// exponent from 1e-4 to 1e16, and always with a point or an exponent.
std::string PythonFloat(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
  char buffer[400];
  const double size = std::fabs(number);
  const bool plain = size == 0 || (size >= 1e-4 && size < 1e16);
  const auto [end, error] =
      std::to_chars(buffer, buffer + sizeof(buffer), number,
                    plain ? std::chars_format::fixed : std::chars_format::scientific);
  std::string text(buffer, error == std::errc() ? end : buffer);
  if (plain && !absl::StrContains(text, '.')) text += ".0";
  return text;
}

std::string PythonList(const std::vector<Value>& values) {
  std::string text = "[";
  for (const Value& value : values) {
    const std::string quote = value.As<std::string>() != nullptr ? "'" : "";
    absl::StrAppend(&text, text.size() > 1 ? ", " : "", quote, PythonText(value), quote);
  }
  return text + "]";
}

}  // namespace

Value PlainScalar(absl::string_view text) {
  if (text.empty() || text == "~" || IsSpelling(text, "null")) return {};
  if (const auto truth = PlainBool(text)) return {*truth};
  if (const auto number = PlainInt(text)) return {*number};
  if (const auto number = PlainFloat(text)) return {*number};
  return {std::string(text)};
}

std::string PythonText(const Value& value) {
  if (const bool* truth = value.As<bool>()) return *truth ? "True" : "False";
  if (const int64_t* number = value.As<int64_t>()) return absl::StrCat(*number);
  if (const double* number = value.As<double>()) return PythonFloat(*number);
  if (const std::string* text = value.As<std::string>()) return *text;
  if (const auto* list = value.As<std::vector<Value>>()) return PythonList(*list);
  return "None";
}

std::optional<bool> ParseTruth(absl::string_view text) {
  const std::string lower = absl::AsciiStrToLower(text);
  if (IsOneOf(lower, {"y", "yes", "t", "true", "on", "1"})) return true;
  if (IsOneOf(lower, {"n", "no", "f", "false", "off", "0"})) return false;
  return std::nullopt;
}

bool IsFalse(const Value& value) {
  if (const bool* truth = value.As<bool>()) return !*truth;
  if (const int64_t* number = value.As<int64_t>()) return *number == 0;
  if (const double* number = value.As<double>()) return *number == 0;
  if (const std::string* text = value.As<std::string>()) {
    return text->empty() || ParseTruth(*text) == false;
  }
  if (const auto* list = value.As<std::vector<Value>>()) return list->empty();
  return true;
}

}  // namespace accel::cli
