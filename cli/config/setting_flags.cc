#include "cli/config/setting_flags.h"

#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/config/core/read_value.h"
#include "common/status_macros.h"

namespace accel::cli {
namespace {

std::string Names(const Setting& setting) {
  if (setting.name == "tee") return "tee,t";
  if (setting.name == "quiet") return "quiet,q";
  return std::string(setting.name);
}

const char* Placeholder(const Setting& setting) {
  switch (setting.kind) {
    case Kind::kInt:
    case Kind::kFloat:
      return "N";
    case Kind::kBool:
    case Kind::kTruth:
    case Kind::kBit:
      return "true|false";
    case Kind::kText:
      break;
    case Kind::kNames:
      return "NAME,NAME,…";
  }
  const bool is_folder = absl::EndsWith(setting.name, "_dir");
  const bool is_file =
      absl::EndsWith(setting.name, "_file") || absl::EndsWith(setting.name, "_path");
  return is_folder ? "DIR"
                   : (is_file || absl::EndsWith(setting.name, "hostfile") ? "PATH" : "TEXT");
}

std::string Help(const Setting& setting) {
  std::string help(setting.help);
  if (setting.effect == Effect::kReplaced) help = absl::StrCat("accepted without effect: ", help);
  if (setting.effect == Effect::kRefused) help = absl::StrCat("refused: ", help);
  if (!setting.choices.empty()) absl::StrAppend(&help, ": ", Expected(setting));
  if (setting.fallback.empty() || IsSwitch(setting)) return help;
  return absl::StrCat(help, " (default: ", setting.fallback, ")");
}

void AddFlag(const Setting& setting, FlagSet* flags, std::vector<FlagSetting>* to) {
  const auto read = [&setting, to](const std::string& text) -> absl::Status {
    ACCEL_ASSIGN_OR_RETURN(Value value, ReadFlagValue(setting, text));
    to->push_back({&setting, std::move(value)});
    return absl::OkStatus();
  };
  if (IsSwitch(setting)) {
    flags->SwitchTo(Names(setting), Help(setting), read);
  } else if (!setting.choices.empty()) {
    flags->Choice(Names(setting), absl::StrSplit(setting.choices, '|'), Help(setting), read);
  } else {
    flags->Value(Names(setting), Placeholder(setting), Help(setting), read);
  }
}

void AddFlags(absl::Span<const Setting> settings, FlagSet* flags, std::vector<FlagSetting>* to) {
  for (const Setting& setting : settings) {
    if (IsFlag(setting)) AddFlag(setting, flags, to);
  }
}

}  // namespace

void AddLaunchSettingFlags(FlagSet* flags, std::vector<FlagSetting>* to) {
  AddFlags(LaunchSettings(), flags, to);
}

void AddOtherSettingFlags(FlagSet* flags, std::vector<FlagSetting>* to) {
  flags->Section("torch.compile and FP8");
  AddFlags(DynamoAndFp8Settings(), flags, to);
  flags->Section("FSDP and kinds of parallelism");
  AddFlags(ShardingSettings(), flags, to);
  flags->Section("DeepSpeed");
  AddFlags(DeepSpeedSettings(), flags, to);
  flags->Section("Megatron-LM");
  AddFlags(MegatronSettings(), flags, to);
  flags->Section("Hardware and services that accel does not drive");
  AddFlags(RefusedSettings(), flags, to);
}

}  // namespace accel::cli
