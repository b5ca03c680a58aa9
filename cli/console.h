// The output of a command: results, messages, and the exit code for an error.
#pragma once

#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "cli/exit_codes.h"
#include "cli/flags.h"

namespace accel::cli {

struct Console {
  std::ostream& out;   // Results, for people or programs.
  std::ostream& err;   // Sentences, each after "accel: ".
  bool color = false;  // Results may have colors.
  // If set, a command only calls this with its flags, and does nothing else.
  std::function<void(const FlagSet& flags)> describe;
};

// Returns true if standard output is a terminal that should get colors: NO_COLOR is empty or not
// set (no-color.org), and TERM is set and not "dumb".
bool OutputHasColors();

// Writes "accel: SENTENCE" to standard error. The sentence may have several lines. Control
// characters other than line feeds are escaped, because a terminal would obey them.
void PrintMessage(const Console& console, absl::string_view sentence);

// Writes the error's message. Returns kExitUsage for INVALID_ARGUMENT, else kExitError.
int Fail(const Console& console, const absl::Status& error);

// Parses `args`. Returns nullopt if the command should run. Otherwise returns its exit code,
// because --help was given, the usage is wrong, or Console::describe is set.
std::optional<int> ParseOrExplain(FlagSet& flags, const std::vector<std::string>& args,
                                  const Console& console);

}  // namespace accel::cli
