// Answers that a person gives on a terminal: menus with arrow keys, and lines.
#pragma once

#include "cli/config/ask.h"

namespace accel::cli {

class TerminalAnswers : public AnswerSource {
 public:
  absl::StatusOr<std::string> Ask(const Question& question) override;
};

}  // namespace accel::cli
