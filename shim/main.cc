// accel-shim: the parent of one job's workers on one node. accel-agent and accel launch start it.
#include <fcntl.h>
#include <sys/stat.h>

#include <cstdio>
#include <cstring>
#include <utility>

#include "common/descriptors.h"
#include "common/version.h"
#include "process/sweep.h"
#include "shim/shim.h"
#include "shim/shim_program.h"
#include "shim/shim_signals.h"
#include "shim/tcp_rendezvous_store.h"

namespace {

int Usage(const char* complaint) {
  std::fprintf(stderr, "accel-shim: %s; see --help\n", complaint);
  return accel::shim::kShimUsage;
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--help") == 0) return std::fputs(accel::shim::kShimHelp, stdout) < 0;
    if (std::strcmp(argv[i], "--version") == 0)
      return std::printf("accel-shim %s\n", accel::common::kVersion) < 0;
    if (std::strcmp(argv[i], accel::shim::kShimControlFlag) != 0) return Usage(argv[i]);
  }
  struct stat control;
  if (argc != 2 || fstat(accel::shim::kShimControlFd, &control) != 0 ||
      !S_ISSOCK(control.st_mode)) {
    return Usage("started without a socket to an agent");
  }
  fcntl(accel::shim::kShimControlFd, F_SETFD, FD_CLOEXEC);
  accel::shim::ShimOptions options;
  options.inherited.keep_hangup_ignored = accel::shim::HangupIsIgnored();
  options.inherited.open_files = accel::common::RaiseDescriptorLimit();
  options.control.reset(accel::shim::kShimControlFd);
  options.signals = accel::shim::TakeShimSignals();
  options.start_store = accel::shim::TcpRendezvousStores();
  if (!options.signals.valid()) return accel::shim::kShimFailed;
  accel::process::BecomeSubreaper();
  return accel::shim::Shim(std::move(options)).Run();
}
