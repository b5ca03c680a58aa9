#include "cli/console.h"

#include <stdlib.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/render/escape.h"

namespace accel::cli {

bool OutputHasColors() {
  const char* refused = ::getenv("NO_COLOR");
  const char* kind = ::getenv("TERM");
  return ::isatty(STDOUT_FILENO) == 1 && (refused == nullptr || *refused == '\0') &&
         kind != nullptr && absl::string_view(kind) != "dumb";
}

void PrintMessage(const Console& console, absl::string_view sentence) {
  std::string text = "accel: ";
  // The sentence may contain names and messages from outside, so control characters are escaped.
  // Line feeds are ours.
  for (absl::string_view line : absl::StrSplit(sentence, '\n')) {
    absl::StrAppend(&text, EscapeControls(line), "\n");
  }
  // Written in one call, because another thread may write at the same time.
  console.err << text << std::flush;
}

int Fail(const Console& console, const absl::Status& error) {
  PrintMessage(console, error.message());
  return absl::IsInvalidArgument(error) ? kExitUsage : kExitError;
}

std::optional<int> ParseOrExplain(FlagSet& flags, const std::vector<std::string>& args,
                                  const Console& console) {
  if (console.describe) {
    console.describe(flags);
    return kExitOk;
  }
  if (const absl::Status parsed = flags.Parse(args); !parsed.ok()) return Fail(console, parsed);
  if (!flags.help_requested()) return std::nullopt;
  console.out << flags.Help();
  return kExitOk;
}

}  // namespace accel::cli
