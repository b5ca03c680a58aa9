#include "cli/config/ask.h"

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace accel::cli {
namespace {

constexpr size_t kLongestAnswer = 4096;

}  // namespace

absl::StatusOr<std::string> LineAnswers::Ask(const Question& question) {
  out_ << question.text;
  const std::vector<std::string> options = OptionsOf(question);
  const bool is_yes_no = question.options == "yes|no";
  const bool is_numbered = !HasNumbersAsOptions(question);
  for (size_t i = 0; i < options.size() && !is_yes_no; ++i) {
    out_ << "\n  " << (is_numbered ? absl::StrCat(i, "  ") : "") << options[i];
  }
  if (is_yes_no) out_ << " yes or no";
  if (!question.fallback.empty()) out_ << " [" << question.fallback << "]";
  out_ << ": " << std::flush;
  std::string line;
  if (!std::getline(in_, line)) {
    out_ << "\n";
    return absl::OutOfRangeError(
        absl::StrCat("the input ended at the question \"", question.text, "\""));
  }
  if (line.size() > kLongestAnswer) return absl::OutOfRangeError("an answer is too long");
  return line;
}

absl::StatusOr<std::vector<FileSetting>> AskAll(AnswerSource& source, bool ask_again,
                                                const Console& console) {
  Questionnaire questionnaire;
  while (const Question* question = questionnaire.Next()) {
    ACCEL_ASSIGN_OR_RETURN(const std::string answer, source.Ask(*question));
    const absl::Status taken = questionnaire.Answer(answer);
    if (taken.ok()) continue;
    if (!ask_again) {
      return absl::InvalidArgumentError(absl::StrCat("the answer \"", answer, "\" to \"",
                                                     question->text, "\": ", taken.message()));
    }
    PrintMessage(console, taken.message());
  }
  return questionnaire.Settings();
}

}  // namespace accel::cli
