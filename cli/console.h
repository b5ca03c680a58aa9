// Where a command writes, and how it ends.
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

// "accel: SENTENCE", on standard error. It may have several lines; whatever else a terminal would
// obey is escaped.
void Say(const Console& console, absl::string_view sentence);

// Says what went wrong; returns kExitUsage for INVALID_ARGUMENT, else kExitError.
int Fail(const Console& console, const absl::Status& error);

// Parses; the exit code if the command is over: --help was asked for, or the usage is wrong.
std::optional<int> ParseOrExplain(FlagSet& flags, const std::vector<std::string>& args,
                                  const Console& console);

}  // namespace accel::cli
