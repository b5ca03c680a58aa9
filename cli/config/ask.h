// Asks the questions of the questionnaire on a terminal or in a pipe.
#pragma once

#include <istream>
#include <string>

#include "absl/status/statusor.h"
#include "cli/config/core/questionnaire.h"
#include "cli/console.h"

namespace accel::cli {

// Reads one answer.
class AnswerSource {
 public:
  virtual ~AnswerSource() = default;
  // Shows the question and returns what the user typed or chose. OUT_OF_RANGE: the input has ended.
  // CANCELLED: the user pressed Ctrl-C.
  virtual absl::StatusOr<std::string> Ask(const Question& question) = 0;
};

// Lines of a pipe or a file. Each question is printed with its options.
class LineAnswers : public AnswerSource {
 public:
  LineAnswers(std::istream& in, std::ostream& out) : in_(in), out_(out) {}
  absl::StatusOr<std::string> Ask(const Question& question) override;

 private:
  std::istream& in_;
  std::ostream& out_;
};

// Asks all questions, and again after a wrong answer. Returns the settings. Errors as of Ask(); in
// a pipe, a wrong answer is INVALID_ARGUMENT.
absl::StatusOr<std::vector<FileSetting>> AskAll(AnswerSource& source, bool ask_again,
                                                const Console& console);

}  // namespace accel::cli
