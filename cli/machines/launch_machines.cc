#include "cli/machines/launch_machines.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "cli/machines/join_launch.h"
#include "cli/machines/launch_secret.h"
#include "cli/machines/meet.h"
#include "cli/machines/serve_launch.h"
#include "common/status_macros.h"
#include "security/openssl_init.h"

namespace accel::cli {
namespace {

// Stands for the secret under --trust_network. It is no secret.
constexpr char kPublicSecret[] = "accel launch --trust_network";
constexpr int kResolvePauseMillis = 500;

// Finds this machine's part. Names may not resolve and routes may not exist before the network is
// up, so this is tried until the timeout. Sets `*signal` if one arrives before.
absl::StatusOr<Part> MeetInTime(const MachinesLaunch& launch, int signals, int* signal) {
  const absl::Time deadline = absl::Now() + launch.place.timeout;
  while (true) {
    absl::StatusOr<Part> part = Meet(launch.place);
    if (!absl::IsUnavailable(part.status()) || absl::Now() >= deadline) return part;
    pollfd stop = {.fd = signals, .events = POLLIN, .revents = 0};
    signalfd_siginfo info;
    if (poll(&stop, 1, kResolvePauseMillis) > 0 &&
        read(signals, &info, sizeof(info)) == sizeof(info)) {
      *signal = static_cast<int>(info.ssi_signo);
      return absl::CancelledError("a signal arrived");
    }
  }
}

absl::StatusOr<LaunchSecret> SecretOf(const MeetingPlace& place, const Console& console) {
  if (!place.trust_network) return FindLaunchSecret();
  PrintMessage(console, absl::StrCat("--trust_network: any machine that reaches ", place.text(),
                                     " can take part in this launch"));
  return LaunchSecret{kPublicSecret, "public (--trust_network)"};
}

}  // namespace

absl::StatusOr<int> LaunchOnMachines(const MachinesLaunch& launch, const Workplace& workplace,
                                     const Console& console) {
  security::InitOpenSsl();
  int signal = 0;
  absl::StatusOr<Part> part = MeetInTime(launch, workplace.signals.get(), &signal);
  if (signal != 0) return 128 + signal;
  ACCEL_RETURN_IF_ERROR(part.status());
  ACCEL_ASSIGN_OR_RETURN(const LaunchSecret secret, SecretOf(launch.place, console));
  if (part->listener.has_value()) {
    return ServeLaunch(launch, *std::move(part), secret.value, workplace, console);
  }
  return JoinLaunch(launch, *part, secret, workplace, console);
}

}  // namespace accel::cli
