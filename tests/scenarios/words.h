// Parses the words of a scenario's line. Invalid words throw std::invalid_argument, which
// Scenario::Play() turns into a status.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace accel::scenarios {

inline std::vector<std::string> Split(absl::string_view text, char by) {
  return absl::StrSplit(text, by, absl::SkipEmpty());
}

inline int Number(absl::string_view text) {
  int value = 0;
  if (!absl::SimpleAtoi(text, &value)) {
    throw std::invalid_argument(absl::StrCat("not a number: ", text));
  }
  return value;
}

inline absl::Duration ParseDuration(absl::string_view text) {
  absl::Duration value;
  if (!absl::ParseDuration(text, &value)) {
    throw std::invalid_argument(absl::StrCat("not a duration: ", text));
  }
  return value;
}

// Splits at the first "=": "nodes=2" gives {"nodes", "2"}, and "cpu" gives {"cpu", ""}.
inline std::pair<std::string, std::string> Option(absl::string_view word) {
  return absl::StrSplit(word, absl::MaxSplits('=', 1));
}

inline std::string Rest(const std::vector<std::string>& words, size_t from) {
  return absl::StrJoin(words.begin() + static_cast<std::ptrdiff_t>(from), words.end(), " ");
}

}  // namespace accel::scenarios
