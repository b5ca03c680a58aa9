#include "cli/config/core/questionnaire.h"

#include <algorithm>
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
#include "common/host_port.h"
#include "common/status_macros.h"

namespace accel::cli {
namespace {

constexpr int64_t kMaxPort = 65'535;

bool IsYesNo(const Question& question) { return question.options == "yes|no"; }

// Returns the option that the text names, or whose number from 0 it is.
absl::StatusOr<std::string> Choose(const Question& question, absl::string_view text) {
  const std::vector<std::string> options = OptionsOf(question);
  for (const std::string& option : options) {
    if (absl::EqualsIgnoreCase(option, text)) return option;
  }
  size_t number = 0;
  const bool is_number = absl::SimpleAtoi(text, &number) && number < options.size();
  if (is_number && !HasNumbersAsOptions(question)) return options[number];
  return absl::InvalidArgumentError(
      absl::StrCat("please enter one of: ", absl::StrJoin(options, ", ")));
}

// Checks what a setting's type does not say.
absl::Status CheckAnswer(absl::string_view name, const std::string& typed, const Value& value,
                         const Answers& answers) {
  const int64_t* number = value.As<int64_t>();
  const bool counts = name == "num_machines" || name == "num_processes";
  if (counts && number != nullptr && *number < 1) {
    return absl::InvalidArgumentError("please enter a number from 1");
  }
  if (name == "machine_rank") {
    const int64_t* machines = answers.find("num_machines")->second.As<int64_t>();
    if (*number < 0 || *number >= *machines) {
      return absl::InvalidArgumentError(
          absl::StrCat("please enter a number from 0 to ", *machines - 1));
    }
  }
  if (name == "main_process_port" && (*number < 1 || *number > kMaxPort)) {
    return absl::InvalidArgumentError(absl::StrCat("please enter a number from 1 to ", kMaxPort));
  }
  if (name == "coordinator" && !absl::StartsWith(typed, "unix:/")) {
    return common::ParseHostPort(typed).status();
  }
  return name == "gpu_ids" ? ParseGpuIds(typed).status() : absl::OkStatus();
}

absl::StatusOr<Value> ReadAnswer(const Question& question, absl::string_view text,
                                 const Answers& answers) {
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
  ACCEL_RETURN_IF_ERROR(CheckAnswer(question.name, typed, value, answers));
  // Accelerate's files have a number here, without quotes.
  int64_t option = 0;
  if (HasNumbersAsOptions(question) && absl::SimpleAtoi(typed, &option)) return Value{option};
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

bool HasNumbersAsOptions(const Question& question) {
  const std::vector<std::string> options = OptionsOf(question);
  return !options.empty() &&
         std::all_of(options.begin(), options.end(), [](const std::string& option) {
           int64_t number = 0;
           return absl::SimpleAtoi(option, &number);
         });
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
  ACCEL_ASSIGN_OR_RETURN(Value value, ReadAnswer(*question, text, answers_));
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
