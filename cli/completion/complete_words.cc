#include "cli/completion/complete_words.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"

namespace accel::cli {
namespace {

using common::CommandHelp;
using common::FlagHelp;

// Returns the first line of a help text up to its first pause, as a short description.
std::string Short(const std::string& help) {
  const size_t end = help.find_first_of(";\n");
  return help.substr(0, end);
}

void AddIfFits(absl::string_view typed, std::string word, std::string about, Completion* to) {
  if (absl::StartsWith(word, typed)) to->candidates.push_back({std::move(word), std::move(about)});
}

Follows FollowsOf(absl::string_view placeholder) {
  if (absl::StartsWith(placeholder, "FILE") || absl::StartsWith(placeholder, "PATH")) {
    return Follows::kFiles;
  }
  if (placeholder == "MODEL" || placeholder == "MODULE") return Follows::kFiles;
  if (placeholder == "DIR") return Follows::kFolders;
  if (placeholder == "JOB") return Follows::kJobs;
  return placeholder == "NODE" ? Follows::kNodes : Follows::kNothing;
}

// Returns the flag that `word` spells, with underscores or dashes, or nullptr.
const FlagHelp* FindFlag(const CommandHelp& help, absl::string_view word) {
  for (const FlagHelp& flag : help.flags) {
    const std::string dashed = absl::StrReplaceAll(flag.name, {{"_", "-"}});
    if (word == absl::StrCat("--", flag.name) || word == absl::StrCat("--", dashed)) return &flag;
    if (!flag.letter.empty() && word == absl::StrCat("-", flag.letter)) return &flag;
  }
  return nullptr;
}

// Completes the value of a flag. `prefix` precedes it in the same word.
Completion CompleteValue(const FlagHelp& flag, const std::string& prefix, absl::string_view typed) {
  Completion completion;
  for (const std::string& choice : flag.choices) {
    if (absl::StartsWith(choice, typed)) completion.candidates.push_back({prefix + choice, ""});
  }
  completion.follows = FollowsOf(flag.placeholder);
  completion.prefix = prefix;
  return completion;
}

Completion CompleteFlag(const CommandHelp& help, const std::string& typed) {
  const size_t equals = typed.find('=');
  if (equals != std::string::npos) {
    const FlagHelp* flag = FindFlag(help, absl::string_view(typed).substr(0, equals));
    if (flag == nullptr) return {};
    return CompleteValue(*flag, typed.substr(0, equals + 1), typed.substr(equals + 1));
  }
  Completion completion;
  const bool dashes = typed.find('-', 2) != std::string::npos;
  for (const FlagHelp& flag : help.flags) {
    const std::string name = dashes ? absl::StrReplaceAll(flag.name, {{"_", "-"}}) : flag.name;
    AddIfFits(typed, absl::StrCat("--", name), Short(flag.help), &completion);
  }
  return completion;
}

// The words before the unfinished one, after the command.
struct Before {
  size_t arguments = 0;            // Number of words that are neither flags nor values.
  const FlagHelp* open = nullptr;  // The flag whose value comes next.
};

Before Read(const CommandHelp& help, const std::vector<std::string>& words, size_t first) {
  Before before;
  for (size_t i = first; i + 1 < words.size(); ++i) {
    if (before.open != nullptr) {
      before.open = nullptr;
    } else if (words[i].size() > 1 && words[i][0] == '-' && words[i] != "--") {
      const FlagHelp* flag = FindFlag(help, words[i]);
      if (flag != nullptr && !flag->placeholder.empty()) before.open = flag;
    } else if (words[i] != "--") {
      ++before.arguments;
      if (help.has_program) break;
    }
  }
  return before;
}

Completion CompleteArguments(const CommandHelp& help, const std::vector<std::string>& words,
                             size_t first) {
  const Before before = Read(help, words, first);
  const std::string& typed = words.back();
  if (before.open != nullptr) return CompleteValue(*before.open, "", typed);
  const bool in_program = help.has_program && before.arguments > 0;
  if (!in_program && absl::StartsWith(typed, "-")) return CompleteFlag(help, typed);
  if (help.has_program) return {{}, Follows::kFiles, ""};
  if (before.arguments >= help.arguments.size()) return {};
  const std::string& argument = help.arguments[before.arguments];
  Completion completion{{}, FollowsOf(argument), ""};
  for (const std::string& choice : common::ChoicesOf(argument)) {
    AddIfFits(typed, choice, "", &completion);
  }
  return completion;
}

}  // namespace

Completion CompleteWords(const std::vector<Command>& commands, std::vector<std::string> words,
                         const Describe& describe) {
  Completion completion;
  if (words.empty()) words.emplace_back();
  if (words.size() == 1 || (words.size() == 2 && words[0] == "help")) {
    for (const Command& command : commands) {
      AddIfFits(words.back(), command.name, command.summary, &completion);
    }
    if (words.size() > 1) return completion;
    AddIfFits(words[0], "help", "explain a command", &completion);
    if (absl::StartsWith(words[0], "-")) {
      AddIfFits(words[0], "--help", "", &completion);
      AddIfFits(words[0], "--version", "", &completion);
    }
    return completion;
  }
  const auto command = std::find_if(commands.begin(), commands.end(),
                                    [&](const Command& c) { return c.name == words[0]; });
  if (command == commands.end()) return completion;
  const auto& parts = command->parts;
  const bool has_part = words.size() > 2 && std::count(parts.begin(), parts.end(), words[1]) > 0;
  completion = CompleteArguments(describe(*command, words), words, has_part ? 2 : 1);
  if (words.size() == 2) {
    for (const std::string& part : parts) AddIfFits(words[1], part, "", &completion);
  }
  return completion;
}

}  // namespace accel::cli
