#include "cli/config/core/questionnaire.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "cli/config/core/gpu_ids.h"
#include "cli/config/core/read_value.h"
#include "cli/config/core/write_config.h"
#include "common/check.h"
#include "common/status_macros.h"

namespace accel::cli {
namespace {

bool IsYesNo(const Question& question) { return question.options == "yes|no"; }

// Returns the option that the text names, or whose number from 0 it is. Numbers of options win over
// option numbers: for the options 1 and 2, the text "1" is the option.
absl::StatusOr<std::string> Choose(const Question& question, absl::string_view text) {
  const std::vector<std::string> options = OptionsOf(question);
  for (const std::string& option : options) {
    if (absl::EqualsIgnoreCase(option, text)) return option;
  }
  size_t number = 0;
  if (absl::SimpleAtoi(text, &number) && number < options.size()) return options[number];
  return absl::InvalidArgumentError(
      absl::StrCat("please enter one of: ", absl::StrJoin(options, ", ")));
}

absl::StatusOr<Value> ReadAnswer(const Question& question, absl::string_view text) {
  std::string typed(absl::StripAsciiWhitespace(text));
  if (typed.empty()) typed = std::string(question.fallback);
  if (typed.empty()) return absl::InvalidArgumentError("please enter a value");
  if (IsYesNo(question)) {
    const auto truth = ParseTruth(typed);
    if (!truth.has_value()) return absl::InvalidArgumentError("please enter yes or no");
    return Value{*truth};
  }
  if (!question.options.empty()) {
    ACCEL_ASSIGN_OR_RETURN(typed, Choose(question, typed));
  }
  const Setting* setting = FindSetting(question.name);
  if (setting == nullptr) return Value{typed};
  ACCEL_ASSIGN_OR_RETURN(Value value, ReadFlagValue(*setting, typed));
  const int64_t* number = value.As<int64_t>();
  const bool counts = question.name == "num_machines" || question.name == "num_processes";
  if (counts && number != nullptr && *number < 1) {
    return absl::InvalidArgumentError("please enter a number from 1");
  }
  if (question.name == "gpu_ids") {
    const auto ids = ParseGpuIds(typed);
    if (!ids.ok()) return ids.status();
  }
  return value;
}

std::string DistributedType(const Answers& answers) {
  const auto is = [&](const char* name) {
    const auto found = answers.find(name);
    return found != answers.end() && !IsFalse(found->second);
  };
  if (is("use_deepspeed")) return "DEEPSPEED";
  if (is("use_fsdp")) return "FSDP";
  if (is("use_megatron_lm")) return "MEGATRON_LM";
  const std::string machine = PythonText(answers.find("machine_type")->second);
  if (machine == "multi-CPU") return "MULTI_CPU";
  return machine == "multi-GPU" ? "MULTI_GPU" : "NO";
}

}  // namespace

std::vector<std::string> OptionsOf(const Question& question) {
  if (question.options.empty()) return {};
  return absl::StrSplit(question.options, '|');
}

const Question* Questionnaire::Next() const {
  for (const Question& question : AllQuestions()) {
    if (answers_.find(question.name) != answers_.end()) continue;
    if (question.is_asked == nullptr || question.is_asked(answers_)) return &question;
  }
  return nullptr;
}

absl::Status Questionnaire::Answer(absl::string_view text) {
  const Question* question = Next();
  ACCEL_CHECK(question != nullptr, "a question is left");
  ACCEL_ASSIGN_OR_RETURN(Value value, ReadAnswer(*question, text));
  answers_.emplace(question->name, std::move(value));
  return absl::OkStatus();
}

std::vector<FileSetting> Questionnaire::Settings() const {
  const std::string type = DistributedType(answers_);
  std::vector<FileSetting> settings = {
      {&GetSetting("distributed_type"), Value{type}, {}},
  };
  for (const auto& [name, value] : answers_) {
    const Setting* setting = FindSetting(name);
    if (setting != nullptr && IsInFile(*setting)) settings.push_back({setting, value, {}});
  }
  if (type == "MULTI_CPU") settings.push_back({&GetSetting("use_cpu"), Value{true}, {}});
  if (answers_.find("num_processes") == answers_.end()) {
    settings.push_back({&GetSetting("num_processes"), Value{int64_t{1}}, {}});
  }
  const auto loads = answers_.find("fsdp_cpu_ram_efficient_loading");
  if (loads != answers_.end() && !IsFalse(loads->second) &&
      PythonText(answers_.at("fsdp_version")) == "1") {
    settings.push_back({&GetSetting("fsdp_sync_module_states"), Value{true}, {}});
  }
  AddMissingDefaults(&settings);
  return settings;
}

}  // namespace accel::cli
