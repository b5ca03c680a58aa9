// The questions of `accel config`, in the order of `accelerate config`.
//
// The questionnaire decides which question follows and what an answer means. The caller asks the
// questions (cli/config/ask.h). Questions about hardware and services that accel does not drive
// are left out.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "cli/config/core/config_file.h"

namespace accel::cli {

// The answers so far, by the name of the question.
using Answers = std::map<std::string, Value, std::less<>>;

struct Question {
  absl::string_view name;  // A setting, or a word of the questionnaire such as use_fsdp.
  absl::string_view text;
  // The default as a user would type it. If empty, an answer is required.
  absl::string_view fallback;
  // The options, separated by "|". An answer is an option, or its number from 0, unless the options
  // are numbers themselves.
  absl::string_view options;
  bool (*is_asked)(const Answers& answers) = nullptr;  // Null if it is always asked.
};

// Returns all questions, in their order.
absl::Span<const Question> AllQuestions();

class Questionnaire {
 public:
  // Returns the next question, or nullptr after the last one.
  const Question* Next() const;

  // Answers the next question. An empty text selects the default. INVALID_ARGUMENT: the answer is
  // wrong; the message says what it must be, and Next() still returns the question.
  absl::Status Answer(absl::string_view text);

  // Returns the settings that the answers give. Must be called after the last question.
  std::vector<FileSetting> Settings() const;

 private:
  Answers answers_;
};

// Returns the options of a question. Empty if any text is an answer.
std::vector<std::string> OptionsOf(const Question& question);

// Returns true if the options are numbers, such as versions. Such options are not numbered, because
// the answer 1 could mean two options.
bool HasNumbersAsOptions(const Question& question);

}  // namespace accel::cli
