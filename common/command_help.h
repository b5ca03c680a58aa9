// The description of a command, as plain values. Help texts, manual pages and the completion of
// shells are made from it, so none of them can miss a flag.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace accel::common {

struct FlagHelp {
  std::string name;         // The long name, without dashes.
  std::string letter;       // Empty if there is no short name.
  std::string placeholder;  // Stands for the value in texts. Empty for a switch.
  std::string help;
  std::string section;               // Empty if --help prints the flag, not only --help_all.
  std::vector<std::string> choices;  // The allowed values. If empty, any value.
};

struct CommandHelp {
  std::string command;   // Such as "accel status".
  std::string synopsis;  // What follows the command in the usage line.
  std::string about;
  // A title and a line for each command of a program that has several.
  std::vector<FlagHelp> commands;  // Only `name` and `help` are set.
  std::vector<FlagHelp> flags;
  std::vector<std::string> arguments;  // Placeholders of the positional arguments.
  bool has_program = false;            // A program and its arguments follow the flags.
  std::string footer;
};

// Returns the text of --help, wrapped at 100 columns; if `all`, that of --help_all. Pure.
std::string HelpText(const CommandHelp& help, bool all);

// Returns the values that a placeholder such as "keep|end" lists. Empty if it is not such a list.
std::vector<std::string> ChoicesOf(const std::string& placeholder);

}  // namespace accel::common
