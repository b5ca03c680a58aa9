#include "cli/console.h"

#include "absl/strings/str_cat.h"

namespace accel {

void Say(const Console& console, absl::string_view sentence) {
  // In one piece: another thread may speak too.
  console.err << absl::StrCat("accel: ", sentence, "\n") << std::flush;
}

int Fail(const Console& console, const absl::Status& error) {
  Say(console, error.message());
  return absl::IsInvalidArgument(error) ? kExitUsage : kExitError;
}

std::optional<int> ParseOrExplain(FlagSet& flags, const std::vector<std::string>& args,
                                  const Console& console) {
  if (const absl::Status parsed = flags.Parse(args); !parsed.ok()) return Fail(console, parsed);
  if (!flags.help_requested()) return std::nullopt;
  console.out << flags.Help();
  return 0;
}

}  // namespace accel
