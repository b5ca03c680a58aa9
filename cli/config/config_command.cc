#include "cli/config/config_command.h"

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "cli/config/ask.h"
#include "cli/config/core/config_places.h"
#include "cli/config/core/explain.h"
#include "cli/config/core/launch_plan.h"
#include "cli/config/core/read_value.h"
#include "cli/config/core/write_config.h"
#include "cli/config/host_facts.h"
#include "cli/config/load_config.h"
#include "cli/config/save_config.h"
#include "cli/config/terminal_answers.h"
#include "cli/json_object.h"
#include "cli/launch_flags.h"
#include "cli/plan_launch.h"
#include "common/status_macros.h"

namespace accel::cli {
namespace {

constexpr char kFooter[] =
    "Exit codes:\n"
    "  0     done; for check: the file is correct\n"
    "  2     wrong usage, or the file is wrong\n"
    "  1     any other error: the file cannot be written…";

int Finish(const absl::Status& status, const Console& console) {
  return status.ok() ? kExitOk : Fail(console, status);
}

absl::StatusOr<std::string> PathOf(const std::string& config_file) {
  ACCEL_ASSIGN_OR_RETURN(const CallerContext context, RealCallerContext());
  return config_file.empty() ? DefaultConfigPath(context.env) : config_file;
}

absl::Status Ask(const std::string& config_file, const Console& console) {
  ACCEL_ASSIGN_OR_RETURN(const std::string path, PathOf(config_file));
  TerminalAnswers terminal;
  LineAnswers lines(std::cin, console.out);
  const bool is_terminal = isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0;
  AnswerSource& source = is_terminal ? static_cast<AnswerSource&>(terminal) : lines;
  ACCEL_ASSIGN_OR_RETURN(const auto settings, AskAll(source, is_terminal, console));
  ACCEL_RETURN_IF_ERROR(SaveConfig(path, WriteConfig(path, settings), /*may_replace=*/true));
  console.out << "accel configuration saved at " << path << "\n";
  return absl::OkStatus();
}

int RunAsk(const std::vector<std::string>& args, const Console& console) {
  std::string config_file;
  FlagSet flags("accel config", "[default|update|explain|check] [flags]",
                "Asks how you train and writes the answers into a configuration file, which `accel "
                "launch` reads. `accel config default` asks nothing, `update` renews an old file, "
                "`explain` prints every effective value and where it comes from, and `check` reads "
                "a file without starting anything.");
  flags.Text("config_file", "FILE", "the file to write (default: Accelerate's default_config.yaml)",
             &config_file);
  flags.Footer(kFooter);
  for (const std::string& word : args) {
    const std::string name = absl::StrReplaceAll(word.substr(0, word.find('=')), {{"-", "_"}});
    if (name != "__mixed_precision" || console.describe) continue;
    return Fail(console, absl::InvalidArgumentError(
                             "--mixed_precision is a flag of `accel config default`, which asks "
                             "nothing; `accel config` asks for it"));
  }
  if (const auto over = ParseOrExplain(flags, args, console)) return *over;
  return Finish(Ask(config_file, console), console);
}

absl::Status WriteDefault(const std::string& config_file, const Value& precision,
                          const Console& console) {
  ACCEL_ASSIGN_OR_RETURN(const CallerContext context, RealCallerContext());
  ACCEL_ASSIGN_OR_RETURN(const std::string path, PathOf(config_file));
  const int gpus = ReadHostFacts(context, /*with_gpus=*/true).gpus.value_or(0);
  std::vector<FileSetting> settings = {
      {&GetSetting("distributed_type"), Value{std::string(gpus > 1 ? "MULTI_GPU" : "NO")}, {}},
      {&GetSetting("num_processes"), Value{int64_t{std::max(gpus, 1)}}, {}},
      {&GetSetting("use_cpu"), Value{gpus == 0}, {}},
      {&GetSetting("mixed_precision"), precision, {}}};
  AddMissingDefaults(&settings);
  ACCEL_RETURN_IF_ERROR(SaveConfig(path, WriteConfig(path, settings), /*may_replace=*/false));
  console.out << "accel configuration saved at " << path << "\n";
  return absl::OkStatus();
}

int RunDefault(const std::vector<std::string>& args, const Console& console) {
  std::string config_file;
  Value precision{std::string("no")};
  FlagSet flags("accel config default", "[flags]",
                "Writes a configuration file for all GPUs of this machine, or for its CPU. An "
                "existing file is left alone.");
  flags.Text("config_file", "FILE", "the file to write (default: Accelerate's default_config.yaml)",
             &config_file);
  flags.Value("mixed_precision", "CHOICE", "no, fp16, bf16 or fp8 (default: no)",
              [&](const std::string& text) -> absl::Status {
                ACCEL_ASSIGN_OR_RETURN(precision, ReadFlagValue(GetSetting("mixed_precision"),
                                                                absl::AsciiStrToLower(text)));
                return absl::OkStatus();
              });
  flags.Footer(kFooter);
  if (const auto over = ParseOrExplain(flags, args, console)) return *over;
  return Finish(WriteDefault(config_file, precision, console), console);
}

// If there is no default file, returns the path of the YAML file, which the error then names.
absl::StatusOr<std::string> ExistingPathOf(const std::string& config_file) {
  ACCEL_ASSIGN_OR_RETURN(const CallerContext context, RealCallerContext());
  if (!config_file.empty()) return config_file;
  return FindDefaultConfig(context.env).value_or(DefaultConfigPath(context.env));
}

absl::Status Update(const std::string& config_file, const Console& console) {
  ACCEL_ASSIGN_OR_RETURN(const std::string path, ExistingPathOf(config_file));
  ACCEL_ASSIGN_OR_RETURN(const std::string text, ReadConfigText(path));
  ACCEL_ASSIGN_OR_RETURN(ConfigFile file, ReadConfig(path, text));
  for (const std::string& note : file.notes) PrintMessage(console, note);
  // Today's files need no keys of hardware that accel does not drive, and Accelerate no longer
  // accepts some of them.
  std::erase_if(file.settings,
                [](const FileSetting& given) { return given.setting->effect == Effect::kRefused; });
  AddMissingDefaults(&file.settings);
  ACCEL_RETURN_IF_ERROR(SaveConfig(path, WriteConfig(path, file.settings), /*may_replace=*/true));
  console.out << "Successfully updated the configuration file at " << path << ".\n";
  return absl::OkStatus();
}

int RunUpdate(const std::vector<std::string>& args, const Console& console) {
  std::string config_file;
  FlagSet flags("accel config update", "[flags]",
                "Rewrites a configuration file with today's keys. Keys of older versions get their "
                "new names, missing ones their defaults. Comments are not kept.");
  flags.Text("config_file", "FILE",
             "the file to renew (default: Accelerate's default_config.yaml, or default_config.json "
             "if only that exists)",
             &config_file);
  flags.Footer(kFooter);
  if (const auto over = ParseOrExplain(flags, args, console)) return *over;
  return Finish(Update(config_file, console), console);
}

absl::Status Explain(const LaunchFlags& flags, bool json, const Console& console) {
  ACCEL_ASSIGN_OR_RETURN(const CallerContext context, RealCallerContext());
  ACCEL_ASSIGN_OR_RETURN(const EffectiveSettings settings, SettingsOf(flags, context));
  if (settings.file().has_value()) {
    for (const std::string& note : settings.file()->notes) PrintMessage(console, note);
  }
  // A launch with wrong settings is explained too, without what it would derive.
  const absl::StatusOr<LaunchPlan> planned = PlanFor(flags, context);
  const LaunchPlan* const plan = planned.ok() ? &*planned : nullptr;
  if (plan == nullptr) {
    PrintMessage(console, absl::StrCat("nothing is derived, because a launch would be refused: ",
                                       planned.status().message()));
  }
  console.out << (json ? ExplainSettingsAsJson(settings, plan, context.env) + "\n"
                       : ExplainSettings(settings, plan, context.env));
  return absl::OkStatus();
}

int RunExplain(const std::vector<std::string>& args, const Console& console) {
  LaunchFlags launch;
  FlagSet flags(
      "accel config explain", "[flags of accel launch]",
      "Prints every effective value of a launch with these flags, and where it comes from: "
      "a flag, a line of the configuration file, the environment, or the default. A value that "
      "follows from others and from this machine is derived.");
  AddLaunchFlags(&flags, &launch);
  flags.Footer(kFooter);
  if (const auto over = ParseOrExplain(flags, args, console)) return *over;
  return Finish(Explain(launch, launch.json, console), console);
}

absl::Status Check(const std::string& path, bool json, const Console& console) {
  ACCEL_ASSIGN_OR_RETURN(const CallerContext context, RealCallerContext());
  ACCEL_ASSIGN_OR_RETURN(const std::string text, ReadConfigText(path));
  ACCEL_ASSIGN_OR_RETURN(ConfigFile file, ReadConfig(path, text));
  const size_t count = file.settings.size();
  // The file may be for another machine, so nothing is assumed about the hardware.
  HostFacts host;
  host.env = context.env;
  host.cwd = context.cwd;
  const EffectiveSettings settings(std::move(file), {});
  ACCEL_ASSIGN_OR_RETURN(const LaunchPlan plan, PlanLaunch(settings, host));
  ACCEL_RETURN_IF_ERROR(CheckLaunch(settings, plan, host));
  if (json) {
    console.out << JsonObject::Versioned()
                       .Text("configuration_file", path)
                       .Number("keys", count)
                       .Texts("notes", plan.notes)
                       .Print()
                << "\n";
    return absl::OkStatus();
  }
  for (const std::string& note : plan.notes) PrintMessage(console, note);
  console.out << path << ": correct, " << count << (count == 1 ? " key\n" : " keys\n");
  return absl::OkStatus();
}

int RunCheck(const std::vector<std::string>& args, const Console& console) {
  std::string path;
  bool json = false;
  FlagSet flags("accel config check", "[flags] FILE",
                "Reads a configuration file as `accel launch` does, and prints each problem with "
                "its file, line and column. Nothing is started.");
  flags.Switch("json", "print JSON (docs/json.md)", &json);
  flags.Argument("FILE", /*required=*/true, &path);
  flags.Footer(kFooter);
  if (const auto over = ParseOrExplain(flags, args, console)) return *over;
  return Finish(Check(path, json, console), console);
}

}  // namespace

int RunConfig(const std::vector<std::string>& args, const Console& console) {
  const std::vector<std::string> rest(args.empty() ? args.begin() : args.begin() + 1, args.end());
  if (!args.empty() && args[0] == "default") return RunDefault(rest, console);
  if (!args.empty() && args[0] == "update") return RunUpdate(rest, console);
  if (!args.empty() && args[0] == "explain") return RunExplain(rest, console);
  if (!args.empty() && args[0] == "check") return RunCheck(rest, console);
  return RunAsk(args, console);
}

}  // namespace accel::cli
