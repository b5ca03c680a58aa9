#include "cli/estimate/core/config_numbers.h"

#include <algorithm>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace accel::cli {
namespace {

using nlohmann::json;

constexpr uint64_t kMaxNumber = uint64_t{1} << 31;

// Returns the value of the key, or null if the key is missing or null.
const json* Find(const json& object, absl::string_view key) {
  const auto found = object.find(std::string(key));
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

}  // namespace

void ConfigNumbers::Refuse(absl::string_view key) {
  if (!status_.ok()) return;
  status_ = absl::InvalidArgumentError(
      absl::StrCat(file_, ": ", key, " is missing or is no number in range"));
}

uint64_t ConfigNumbers::TooLarge(absl::string_view expression) {
  if (status_.ok()) {
    status_ = absl::InvalidArgumentError(absl::StrCat(file_, ": ", expression, " is too large"));
  }
  return 0;
}

uint64_t ConfigNumbers::Eval(absl::string_view expression) {
  uint64_t sum = 0;
  for (const absl::string_view product : absl::StrSplit(expression, '+')) {
    if (__builtin_add_overflow(sum, Product(product), &sum)) return TooLarge(expression);
  }
  return status_.ok() ? sum : 0;
}

uint64_t ConfigNumbers::Product(absl::string_view product) {
  uint64_t result = 1;
  bool divides = false;
  for (absl::string_view rest = product; !rest.empty();) {
    const size_t end = std::min(rest.find_first_of("*/"), rest.size());
    const absl::string_view name = rest.substr(0, end);
    const uint64_t factor = Factor(name);
    if (divides && factor == 0) {
      Refuse(name);
      return 0;
    }
    if (divides) {
      result /= factor;
    } else if (__builtin_mul_overflow(result, factor, &result)) {
      return TooLarge(product);
    }
    divides = end < rest.size() && rest[end] == '/';
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return result;
}

uint64_t ConfigNumbers::Factor(absl::string_view factor) {
  uint64_t literal = 0;
  if (absl::SimpleAtoi(factor, &literal)) return literal;
  const auto found = std::find_if(numbers_.begin(), numbers_.end(),
                                  [&](const ConfigNumber& one) { return one.name == factor; });
  const ConfigNumber* const number = found == numbers_.end() ? nullptr : &*found;
  if (number != nullptr && number->is_derived) return Eval(number->value);
  if (const json* value = Find(config_, factor)) return Checked(*value, factor, number);
  if (number != nullptr) return Eval(number->value);
  Refuse(factor);
  return 0;
}

uint64_t ConfigNumbers::Checked(const json& value, absl::string_view key,
                                const ConfigNumber* number) {
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  if (number != nullptr && number->prefix != nullptr && value.is_string()) {
    return absl::StartsWith(value.get_ref<const std::string&>(), number->prefix) ? 1 : 0;
  }
  if (value.is_number_unsigned() && value.get<uint64_t>() <= kMaxNumber)
    return value.get<uint64_t>();
  Refuse(key);
  return 0;
}

double ConfigNumbers::RotaryPart(double fallback) {
  const json* part = nullptr;
  // Transformers 5 has the first place, older versions have one of the others.
  if (const json* rope = Find(config_, "rope_parameters"); rope != nullptr && rope->is_object()) {
    part = Find(*rope, "partial_rotary_factor");
  }
  for (const char* key : {"partial_rotary_factor", "rotary_pct"}) {
    if (part == nullptr) part = Find(config_, key);
  }
  if (part == nullptr) return fallback;
  const double value = part->is_number() ? part->get<double>() : -1;
  if (value >= 0 && value <= 1) return value;
  Refuse("partial_rotary_factor");
  return 0;
}

}  // namespace accel::cli
