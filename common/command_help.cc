#include "common/command_help.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/wrap.h"

namespace accel::common {
namespace {

constexpr size_t kColumns = 100;
constexpr size_t kIndent = 6;

std::string CommandLines(const std::vector<FlagHelp>& commands) {
  size_t widest = 0;
  for (const FlagHelp& command : commands) widest = std::max(widest, command.name.size());
  std::string text;
  for (const FlagHelp& command : commands) {
    absl::StrAppend(&text, "  ", command.name, std::string(widest + 2 - command.name.size(), ' '),
                    command.help, "\n");
  }
  return text;
}

std::string FlagLines(const std::vector<FlagHelp>& flags, bool all) {
  std::string text;
  std::string section;
  for (const FlagHelp& flag : flags) {
    if (!flag.section.empty() && !all) continue;
    if (flag.section != section) absl::StrAppend(&text, "\n", flag.section, ":\n");
    section = flag.section;
    absl::StrAppend(&text, "  ", flag.letter.empty() ? "" : absl::StrCat("-", flag.letter, ", "),
                    "--", flag.name, flag.placeholder.empty() ? "" : " ", flag.placeholder, "\n",
                    Wrap(flag.help, kColumns, kIndent), "\n");
  }
  return text;
}

}  // namespace

std::string HelpText(const CommandHelp& help, bool all) {
  std::string text = absl::StrCat("Usage: ", help.command, help.synopsis.empty() ? "" : " ",
                                  help.synopsis, "\n\n", Wrap(help.about, kColumns, 0), "\n");
  if (!help.commands.empty()) {
    absl::StrAppend(&text, "\nCommands:\n", CommandLines(help.commands));
  }
  if (!help.flags.empty()) absl::StrAppend(&text, "\nFlags:\n", FlagLines(help.flags, all));
  if (!help.footer.empty()) absl::StrAppend(&text, "\n", Wrap(help.footer, kColumns, 0), "\n");
  return text;
}

std::vector<std::string> ChoicesOf(const std::string& placeholder) {
  std::vector<std::string> words = absl::StrSplit(placeholder, '|');
  const auto is_value = [](const std::string& word) {
    return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
      return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '_' || c == '-';
    });
  };
  if (words.size() < 2 || !std::all_of(words.begin(), words.end(), is_value)) return {};
  return words;
}

}  // namespace accel::common
