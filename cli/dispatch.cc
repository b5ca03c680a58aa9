#include "cli/dispatch.h"

#include "absl/strings/str_cat.h"
#include "cli/render/escape.h"
#include "common/command_help.h"
#include "common/man_page.h"
#include "common/suggest.h"
#include "common/version.h"

namespace accel::cli {
namespace {

common::CommandHelp Overview(const std::vector<Command>& commands) {
  common::CommandHelp help;
  help.command = "accel";
  help.synopsis = "COMMAND [flags] …";
  help.about = "Runs PyTorch training programs on one machine or many.";
  for (const Command& command : commands) {
    common::FlagHelp& line = help.commands.emplace_back();
    line.name = command.name;
    line.help = command.summary;
  }
  help.footer =
      "`accel COMMAND --help` explains a command, `accel --version` prints the version.\nExit "
      "codes: "
      "docs/exit-codes.md.";
  return help;
}

int Unknown(const std::vector<Command>& commands, const std::string& word, const Console& console) {
  if (word == "tpu-config") {  // A command of Accelerate.
    PrintMessage(console, "tpu-config: accel does not drive TPUs");
    return kExitUsage;
  }
  std::vector<std::string> names;
  for (const Command& command : commands) names.push_back(command.name);
  const std::string nearest = common::Nearest(word, names);
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
    console.err << HelpText(Overview(commands), /*all=*/true);
    return kExitUsage;
  }
  std::string name = words[0];
  std::vector<std::string> args(words.begin() + 1, words.end());
  if (name == "help" && !args.empty()) {
    name = args[0];
    args = {"--help"};
  }
  if (name == "--help" || name == "-h" || name == "help") {
    console.out << HelpText(Overview(commands), /*all=*/true);
    return 0;
  }
  if (name == "--help_man") {
    console.out << common::ManPage(Overview(commands), "1", common::kVersion);
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
