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

// Reads answers from the lines of a pipe or a file. Prints each question with its options.
class LineAnswers : public AnswerSource {
 public:
  LineAnswers(std::istream& in, std::ostream& out) : in_(in), out_(out) {}
  absl::StatusOr<std::string> Ask(const Question& question) override;

 private:
  std::istream& in_;
  std::ostream& out_;
};

// Asks all questions and returns the settings. If `ask_again`, repeats a question after a wrong
// answer; otherwise returns INVALID_ARGUMENT. Other errors are those of Ask().
absl::StatusOr<std::vector<FileSetting>> AskAll(AnswerSource& source, bool ask_again,
                                                const Console& console);

}  // namespace accel::cli
