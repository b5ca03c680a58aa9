// accel-shim: the parent of one job's workers on one node. accel-agent and accel launch start it.
#include <sys/prctl.h>
#include <unistd.h>

#include <optional>
#include <utility>

#include "common/descriptors.h"
#include "process/sweep.h"
#include "shim/shim.h"
#include "shim/shim_flags.h"
#include "shim/shim_signals.h"
#include "shim/tcp_rendezvous_store.h"

int main(int argc, char** argv) {
  accel::shim::ShimOptions options;
  if (const std::optional<int> code = accel::shim::ParseShimFlags(argc, argv, &options))
    return *code;
  options.inherited.keep_hangup_ignored = accel::shim::HangupIsIgnored();
  options.inherited.open_files = accel::common::RaiseDescriptorLimit();
  options.signals = accel::shim::TakeShimSignals();
  options.start_store = accel::shim::TcpRendezvousStores();
  if (!options.signals.valid()) return accel::shim::kShimFailed;
  accel::process::BecomeSubreaper();
  // A worker runs as the same user. It may end its shim, but must not take it over by
  // ptrace or /proc.
  if (options.listener.valid() && geteuid() != 0) prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  return accel::shim::Shim(std::move(options)).Run();
}
