#pragma once

#include <concepts>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace accel {

// What prepared models compute in; their parameters, gradients and outputs stay fp32. fp16 needs
// its losses scaled, which backward() and prepared optimizers do.
enum class MixedPrecision { kNo, kFp16, kBf16 };

// What counts: a launcher that asks for one is obeyed, whatever the program says. Every launch says
// something, so that `no` leaves the program its own choice.
constexpr MixedPrecision choose_precision(MixedPrecision program,
                                          std::optional<MixedPrecision> launcher) {
  return launcher.value_or(MixedPrecision::kNo) == MixedPrecision::kNo ? program : *launcher;
}

// The precision of this name: "no", "fp16" or "bf16", as Python's Accelerate and the launcher have
// them. Throws std::invalid_argument for any other.
inline MixedPrecision precision_named(std::string_view name) {
  if (name == "no") return MixedPrecision::kNo;
  if (name == "fp16") return MixedPrecision::kFp16;
  if (name == "bf16") return MixedPrecision::kBf16;
  throw std::invalid_argument("mixed_precision \"" + std::string(name) +
                              "\" should be no, fp16 or bf16" +
                              (name == "fp8" ? ": C++ programs have no fp8" : ""));
}

// An option that is a MixedPrecision or the name of one.
class PrecisionChoice {
 public:
  constexpr PrecisionChoice(MixedPrecision precision) : precision_(precision) {}
  // Throws as precision_named() does.
  PrecisionChoice(const char* name) : precision_(precision_named(name)) {}
  PrecisionChoice(const std::string& name) : precision_(precision_named(name)) {}

  // Anything else is refused with a sentence. Without this the compiler would only say that no
  // constructor takes the braces around all options.
  template <typename Other>
  requires(!std::convertible_to<Other, std::string_view>) PrecisionChoice(Other) {
    static_assert(std::same_as<Other, MixedPrecision>,
                  "mixed_precision is an accel::MixedPrecision, or \"no\", \"fp16\" or \"bf16\"");
  }

  constexpr operator MixedPrecision() const { return precision_; }

 private:
  MixedPrecision precision_ = MixedPrecision::kNo;
};

}  // namespace accel
