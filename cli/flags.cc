#include "cli/flags.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "cli/suggest.h"
#include "cli/wrap.h"
#include "common/status_macros.h"

namespace accel::cli {
namespace {

constexpr size_t kHelpColumns = 100;
constexpr size_t kHelpIndent = 6;

std::string Dashed(absl::string_view name) { return absl::StrReplaceAll(name, {{"_", "-"}}); }

// CLI11 takes the next argument as the value of `--name=`. No argument contains a NUL, so a NUL
// stands for the empty value while CLI11 parses.
constexpr char kEmptyValue[] = {'\0'};

void MarkEmptyValues(std::vector<std::string>* args) {
  for (std::string& word : *args) {
    if (absl::StartsWith(word, "--") && absl::EndsWith(word, "=")) word.append(kEmptyValue, 1);
  }
}

std::string Unmarked(std::string word) {
  if (!word.empty() && word.back() == kEmptyValue[0]) word.pop_back();
  return word;
}

}  // namespace

FlagSet::FlagSet(std::string command, std::string synopsis, std::string about)
    : command_(std::move(command)), synopsis_(std::move(synopsis)), about_(std::move(about)) {
  Add("help,h", "", "print this and exit", false, nullptr);
}

void FlagSet::Add(const std::string& names, std::string placeholder, std::string help,
                  bool repeated, Reader read) {
  const std::pair<std::string, std::string> parts = absl::StrSplit(names, absl::MaxSplits(',', 1));
  flags_.push_back({parts.first, parts.second, std::move(placeholder), std::move(help), section_,
                    repeated, std::move(read)});
}

void FlagSet::Switch(std::string names, std::string help, bool* to) {
  Add(names, "", std::move(help), false, [to](const std::string& value) {
    if (absl::SimpleAtob(value, to)) return absl::OkStatus();
    return absl::InvalidArgumentError("it must be true or false");
  });
}

void FlagSet::SwitchTo(std::string names, std::string help, Reader read) {
  Add(names, "", std::move(help), false, std::move(read));
}

void FlagSet::Text(std::string names, std::string placeholder, std::string help, std::string* to) {
  Value(std::move(names), std::move(placeholder), std::move(help), [to](const std::string& value) {
    if (value.empty()) return absl::InvalidArgumentError("it must not be empty");
    *to = value;
    return absl::OkStatus();
  });
}

void FlagSet::Int(std::string names, std::string placeholder, std::string help, int* to, int least,
                  int most) {
  Value(std::move(names), std::move(placeholder), std::move(help),
        [to, least, most](const std::string& value) {
          if (absl::SimpleAtoi(value, to) && *to >= least && *to <= most) return absl::OkStatus();
          return absl::InvalidArgumentError(
              most == INT_MAX ? absl::StrCat("it must be a number, at least ", least)
                              : absl::StrCat("it must be a number from ", least, " to ", most));
        });
}

void FlagSet::Repeated(std::string names, std::string placeholder, std::string help,
                       std::vector<std::string>* to) {
  Add(names, std::move(placeholder), std::move(help), true, [to](const std::string& value) {
    to->push_back(value);
    return absl::OkStatus();
  });
}

void FlagSet::Value(std::string names, std::string placeholder, std::string help, Reader read) {
  Add(names, std::move(placeholder), std::move(help), false, std::move(read));
}

void FlagSet::Argument(std::string name, bool required, std::string* to) {
  arguments_.push_back({std::move(name), required, to});
}

void FlagSet::Program(std::vector<std::string>* to) { program_ = to; }

void FlagSet::Section(std::string title) {
  if (section_.empty()) Add("help_all", "", "print every flag and exit", false, nullptr);
  section_ = std::move(title);
}

void FlagSet::Footer(std::string text) { footer_ = std::move(text); }

absl::Status FlagSet::Parse(const std::vector<std::string>& args) {
  std::vector<std::string> rest;
  ACCEL_RETURN_IF_ERROR(ReadWithCli11(args, &rest));
  return help_requested_ ? absl::OkStatus() : TakeRest(std::move(rest));
}

absl::Status FlagSet::ReadWithCli11(std::vector<std::string> args, std::vector<std::string>* rest) {
  CLI::App app;
  app.set_help_flag();  // FlagSet::Help() has another layout.
  app.allow_extras();
  app.prefix_command(program_ != nullptr);
  std::vector<std::pair<const Flag*, CLI::Option*>> options;
  for (const Flag& flag : flags_) {
    std::string names = absl::StrCat("--", flag.name);
    if (absl::StrContains(flag.name, '_')) absl::StrAppend(&names, ",--", Dashed(flag.name));
    if (!flag.letter.empty()) absl::StrAppend(&names, ",-", flag.letter);
    CLI::Option* option = flag.placeholder.empty()
                              ? app.add_flag(names)
                              : app.add_option(names)->expected(1)->multi_option_policy(
                                    CLI::MultiOptionPolicy::TakeAll);
    options.emplace_back(&flag, option);
  }
  const std::string last_word = args.empty() ? "" : args.back();
  MarkEmptyValues(&args);
  std::reverse(args.begin(), args.end());  // CLI11 expects the arguments in reverse order.
  try {
    app.parse(std::move(args));
  } catch (const CLI::ArgumentMismatch&) {  // Only at the end of the line can a value be missing.
    return absl::InvalidArgumentError(absl::StrCat(last_word, " needs a value"));
  } catch (const CLI::Error& error) {
    return absl::InvalidArgumentError(error.what());
  }
  for (const auto& [flag, option] : options) {
    if (flag->read != nullptr || option->count() == 0) continue;
    help_requested_ = true;
    all_requested_ |= flag->name == "help_all";
  }
  if (help_requested_) return absl::OkStatus();
  for (const auto& [flag, option] : options) {
    if (flag->read != nullptr) ACCEL_RETURN_IF_ERROR(ReadValues(*flag, option->results()));
  }
  for (std::string& word : app.remaining()) rest->push_back(Unmarked(std::move(word)));
  return absl::OkStatus();
}

absl::Status FlagSet::ReadValues(const Flag& flag, const std::vector<std::string>& values) {
  const size_t first = flag.repeated || values.empty() ? 0 : values.size() - 1;
  for (size_t i = first; i < values.size(); ++i) {
    const std::string value = Unmarked(values[i]);
    const absl::Status read = flag.read(value);
    if (read.ok()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--", flag.name, " \"", value, "\": ", read.message()));
  }
  return absl::OkStatus();
}

absl::Status FlagSet::TakeRest(std::vector<std::string> rest) {
  // CLI11 leaves unknown flags and arguments in `rest`, in their original order.
  bool flags_ended = false;
  std::vector<std::string> words;
  for (std::string& word : rest) {
    if (program_ != nullptr && !words.empty()) {
      words.push_back(std::move(word));
    } else if (!flags_ended && word == "--") {
      flags_ended = true;
    } else if (!flags_ended && word.size() > 1 && word[0] == '-') {
      return UnknownFlag(word);
    } else {
      words.push_back(std::move(word));
    }
  }
  if (program_ != nullptr) {
    *program_ = std::move(words);
    return absl::OkStatus();
  }
  if (words.size() > arguments_.size()) {
    return absl::InvalidArgumentError(absl::StrCat("unexpected \"", words[arguments_.size()],
                                                   "\"; `", command_, " --help` shows the usage"));
  }
  for (size_t i = 0; i < arguments_.size(); ++i) {
    if (i < words.size()) {
      *arguments_[i].to = std::move(words[i]);
    } else if (arguments_[i].required) {
      return absl::InvalidArgumentError(
          absl::StrCat(arguments_[i].name, " is missing; `", command_, " --help` shows the usage"));
    }
  }
  return absl::OkStatus();
}

absl::Status FlagSet::UnknownFlag(absl::string_view word) const {
  const absl::string_view name = word.substr(0, word.find('='));
  std::vector<std::string> known;
  for (const Flag& flag : flags_) {
    known.push_back(absl::StrCat("--", flag.name));
    known.push_back(absl::StrCat("--", Dashed(flag.name)));
  }
  const std::string nearest = Nearest(name, known);
  return absl::InvalidArgumentError(
      absl::StrCat("unknown flag ", name,
                   nearest.empty() ? absl::StrCat("; `", command_, " --help` lists the flags")
                                   : absl::StrCat("; did you mean ", nearest, "?")));
}

std::vector<std::string> FlagSet::Names() const {
  std::vector<std::string> names;
  for (const Flag& flag : flags_) names.push_back(flag.name);
  return names;
}

std::string FlagSet::Help() const {
  std::string help = absl::StrCat("Usage: ", command_, " ", synopsis_, "\n\n",
                                  Wrap(about_, kHelpColumns, 0), "\n\nFlags:\n");
  std::string section;
  for (const Flag& flag : flags_) {
    if (!flag.section.empty() && !all_requested_) continue;
    if (flag.section != section) absl::StrAppend(&help, "\n", flag.section, ":\n");
    section = flag.section;
    absl::StrAppend(&help, "  ", flag.letter.empty() ? "" : absl::StrCat("-", flag.letter, ", "),
                    "--", flag.name, flag.placeholder.empty() ? "" : " ", flag.placeholder, "\n",
                    Wrap(flag.help, kHelpColumns, kHelpIndent), "\n");
  }
  if (!footer_.empty()) absl::StrAppend(&help, "\n", Wrap(footer_, kHelpColumns, 0), "\n");
  return help;
}

}  // namespace accel::cli
