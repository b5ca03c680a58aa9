#include "cli/key.h"

#include "absl/strings/str_cat.h"
#include "cli/machines/launch_secret.h"

namespace accel::cli {

int RunKey(const std::vector<std::string>& args, const Console& console) {
  std::string what;
  FlagSet flags("accel key", "show",
                "Prints the launch key of this machine. Machines that have the same key can take "
                "part in one `accel launch` (--num_machines, --main_process_ip). Anyone who has it "
                "can run programs as you on machines that wait for others: treat it as a password. "
                "The key is that of the file that ACCEL_LAUNCH_KEY_FILE names, else of "
                "ACCEL_LAUNCH_KEY, else of ~/.config/accel/token, which is made if it is missing.");
  flags.Argument("show", /*required=*/true, &what);
  flags.Footer(
      "Exit codes: 0; 2: wrong usage; 1: any other error, for example if other users can "
      "read the file.");
  if (const auto over = ParseOrExplain(flags, args, console)) return *over;
  if (what != "show") {
    return Fail(console, absl::InvalidArgumentError(
                             absl::StrCat("\"", what, "\" is no command; write: accel key show")));
  }
  const auto secret = FindLaunchSecret();
  if (!secret.ok()) {
    return Fail(console, absl::FailedPreconditionError(secret.status().message()));
  }
  PrintMessage(console, absl::StrCat("the launch key is ", secret->source));
  console.out << secret->value << "\n";
  return kExitOk;
}

}  // namespace accel::cli
