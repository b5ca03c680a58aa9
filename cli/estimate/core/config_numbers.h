// Evaluates expressions of the table of architectures with the numbers of a config.json.
// Pure. Not thread-safe.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "cli/estimate/core/architecture_table.h"

namespace accel::cli {

// Keeps the first error. After an error, all numbers are 0.
class ConfigNumbers {
 public:
  // The arguments must outlive this. `file` is the name for messages.
  ConfigNumbers(absl::string_view file, const nlohmann::json& config,
                absl::Span<const ConfigNumber> numbers)
      : file_(file), config_(config), numbers_(numbers) {}

  uint64_t Eval(absl::string_view expression);

  // Returns the part of a head that is rotated, from 0 to 1. If the config does not have
  // it, returns `fallback`.
  double RotaryPart(double fallback);

  void Refuse(absl::string_view key);
  const absl::Status& status() const { return status_; }

 private:
  uint64_t Product(absl::string_view product);
  uint64_t Factor(absl::string_view factor);
  uint64_t Checked(const nlohmann::json& value, absl::string_view key, const ConfigNumber* number);
  uint64_t TooLarge(absl::string_view expression);

  const absl::string_view file_;
  const nlohmann::json& config_;
  const absl::Span<const ConfigNumber> numbers_;
  absl::Status status_;
};

}  // namespace accel::cli
