#include "common/flag_set.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/man_page.h"
#include "common/status_macros.h"
#include "common/suggest.h"
#include "common/version.h"

namespace accel::common {
namespace {

// The flag that prints the manual page. Help texts leave it out, because only packaging needs it.
constexpr char kHelpMan[] = "help_man";

std::string Dashed(absl::string_view name) { return absl::StrReplaceAll(name, {{"_", "-"}}); }

// The flags that a command line names, right or wrong.
class NamedFlags {
 public:
  explicit NamedFlags(const std::vector<std::string>& args) {
    for (const absl::string_view word : args) {
      if (absl::StartsWith(word, "--")) {
        names_.emplace(word.substr(2, word.find('=') - 2));
      } else if (absl::StartsWith(word, "-")) {
        absl::StrAppend(&letters_, word.substr(1));  // One word can have several letters.
      }
    }
  }

  bool Contain(const FlagHelp& flag) const {
    return names_.contains(flag.name) || names_.contains(Dashed(flag.name)) ||
           (!flag.letter.empty() && absl::StrContains(letters_, flag.letter));
  }

 private:
  absl::flat_hash_set<std::string> names_;
  std::string letters_;
};

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
  Add(kHelpMan, "", "print the manual page and exit", false, nullptr);
}

FlagHelp& FlagSet::Add(const std::string& names, std::string placeholder, std::string help,
                       bool repeated, Reader read) {
  const std::pair<std::string, std::string> parts = absl::StrSplit(names, absl::MaxSplits(',', 1));
  std::vector<std::string> choices = ChoicesOf(placeholder);
  FlagHelp facts = {parts.first,     parts.second, std::move(placeholder),
                    std::move(help), section_,     std::move(choices)};
  flags_.push_back({std::move(facts), repeated, std::move(read)});
  return flags_.back().facts;
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

void FlagSet::Choice(std::string names, std::vector<std::string> choices, std::string help,
                     Reader read) {
  Add(names, "CHOICE", std::move(help), false, std::move(read)).choices = std::move(choices);
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
  // CLI11 compares each option that is added with all others, which takes 4 ms for the 200 flags of
  // `accel launch`. So it gets only those that occur.
  const NamedFlags named(args);
  std::vector<std::pair<const Flag*, CLI::Option*>> options;
  for (const Flag& flag : flags_) {
    if (!named.Contain(flag.facts)) continue;
    std::string names = absl::StrCat("--", flag.facts.name);
    if (absl::StrContains(flag.facts.name, '_'))
      absl::StrAppend(&names, ",--", Dashed(flag.facts.name));
    if (!flag.facts.letter.empty()) absl::StrAppend(&names, ",-", flag.facts.letter);
    CLI::Option* option = flag.facts.placeholder.empty()
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
    // A value can be missing only at the end of the line.
  } catch (const CLI::ArgumentMismatch&) {
    return absl::InvalidArgumentError(absl::StrCat(last_word, " needs a value"));
  } catch (const CLI::Error& error) {
    return absl::InvalidArgumentError(error.what());
  }
  for (const auto& [flag, option] : options) {
    if (flag->read != nullptr || option->count() == 0) continue;
    help_requested_ = true;
    all_requested_ |= flag->facts.name == "help_all";
    man_requested_ |= flag->facts.name == kHelpMan;
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
        absl::StrCat("--", flag.facts.name, " \"", value, "\": ", read.message()));
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
    known.push_back(absl::StrCat("--", flag.facts.name));
    known.push_back(absl::StrCat("--", Dashed(flag.facts.name)));
  }
  const std::string nearest = Nearest(name, known);
  return absl::InvalidArgumentError(
      absl::StrCat("unknown flag ", name,
                   nearest.empty() ? absl::StrCat("; `", command_, " --help` lists the flags")
                                   : absl::StrCat("; did you mean ", nearest, "?")));
}

std::vector<std::string> FlagSet::Names() const {
  std::vector<std::string> names;
  for (const Flag& flag : flags_) {
    if (flag.read != nullptr) names.push_back(flag.facts.name);
  }
  return names;
}

CommandHelp FlagSet::Describe() const {
  CommandHelp help = {command_, synopsis_, about_, {}, {}, {}, program_ != nullptr, footer_};
  for (const Flag& flag : flags_) {
    if (flag.facts.name != kHelpMan) help.flags.push_back(flag.facts);
  }
  for (const Positional& argument : arguments_) help.arguments.push_back(argument.name);
  return help;
}

std::string FlagSet::Help() const {
  if (!man_requested_) return HelpText(Describe(), all_requested_);
  // The names of commands of `accel` have a space. Other programs are daemons, whose pages are
  // in section 8.
  return ManPage(Describe(), absl::StrContains(command_, ' ') ? "1" : "8", kVersion);
}

}  // namespace accel::common
