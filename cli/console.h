// The output of a command: results, messages, and the exit code for an error.
#pragma once

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
  std::ostream& out;  // Results, for people or programs.
  std::ostream& err;  // Sentences, each after "accel: ".
};

// Writes "accel: SENTENCE" to standard error. The sentence may have several lines. All other
// control characters are escaped, because a terminal would obey them.
void PrintMessage(const Console& console, absl::string_view sentence);

// Writes the error's message. Returns kExitUsage for INVALID_ARGUMENT, else kExitError.
int Fail(const Console& console, const absl::Status& error);

// Parses `args`. Returns an exit code if the command is finished, because --help was given or the
// usage is wrong; nullopt if the command should run.
std::optional<int> ParseOrExplain(FlagSet& flags, const std::vector<std::string>& args,
                                  const Console& console);

}  // namespace accel::cli
