#include "cli/dispatch.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "cli/render/escape.h"
#include "cli/suggest.h"
#include "common/version.h"

namespace accel::cli {
namespace {

std::string Overview(const std::vector<Command>& commands) {
  size_t widest = 0;
  for (const Command& command : commands) widest = std::max(widest, command.name.size());
  std::string text =
      "Usage: accel COMMAND [flags] …\n\n"
      "Runs PyTorch training programs on one machine or many.\n\nCommands:\n";
  for (const Command& command : commands) {
    absl::StrAppend(&text, "  ", command.name, std::string(widest + 2 - command.name.size(), ' '),
                    command.summary, "\n");
  }
  absl::StrAppend(&text,
                  "\n`accel COMMAND --help` explains a command, `accel --version` prints the "
                  "version.\nExit codes: docs/exit-codes.md.\n");
  return text;
}

int Unknown(const std::vector<Command>& commands, const std::string& word, const Console& console) {
  std::vector<std::string> names;
  for (const Command& command : commands) names.push_back(command.name);
  const std::string nearest = Nearest(word, names);
  PrintMessage(console,
               absl::StrCat("there is no command ", EscapeControls(word),
                            nearest.empty() ? "; `accel --help` lists them"
                                            : absl::StrCat("; did you mean ", nearest, "?")));
  return kExitUsage;
}

}  // namespace

int Dispatch(const std::vector<Command>& commands, const std::vector<std::string>& words,
             const Console& console) {
  if (words.empty()) {
    console.err << Overview(commands);
    return kExitUsage;
  }
  std::string name = words[0];
  std::vector<std::string> args(words.begin() + 1, words.end());
  if (name == "help" && !args.empty()) {
    name = args[0];
    args = {"--help"};
  }
  if (name == "--help" || name == "-h" || name == "help") {
    console.out << Overview(commands);
    return 0;
  }
  if (name == "--version") {
    console.out << "accel " << common::kVersion << "\n";
    return 0;
  }
  for (const Command& command : commands) {
    if (command.name == name) return command.run(args, console);
  }
  return Unknown(commands, name, console);
}

}  // namespace accel::cli
