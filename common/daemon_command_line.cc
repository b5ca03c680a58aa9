#include "common/daemon_command_line.h"

#include <cstdio>
#include <vector>

#include "common/print_text.h"
#include "common/printable.h"
#include "common/version.h"

namespace accel::common {
namespace {

constexpr int kUsage = 2;

// Returns the exit code.
int Print(const std::string& text) { return PrintText(text) ? 0 : 1; }

}  // namespace

std::optional<int> ParseDaemonFlags(const std::string& program, int argc, char** argv,
                                    FlagSet* flags, const std::function<absl::Status()>& check) {
  bool version = false;
  flags->Switch("version", "print the version and exit", &version);
  absl::Status parsed = flags->Parse(std::vector<std::string>(argv + 1, argv + argc));
  if (parsed.ok() && flags->help_requested()) return Print(flags->Help());
  if (parsed.ok() && version) return Print(program + " " + kVersion + "\n");
  if (parsed.ok()) parsed = check();
  if (parsed.ok()) return std::nullopt;
  std::fprintf(stderr, "%s: %s\n", program.c_str(), Printable(parsed.message()).c_str());
  return kUsage;
}

}  // namespace accel::common
