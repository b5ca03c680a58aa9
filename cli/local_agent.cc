#include "cli/local_agent.h"

#include <utility>

#include "agent/agent.h"
#include "agent/base_env.h"
#include "process/sweep.h"
#include "shim/host/posix_shim_host.h"

namespace accel::cli {

LocalAgent::LocalAgent(const Options& options, v1::NodeObserved identity,
                       std::unique_ptr<agent::CoordinatorLink> link)
    : link_(std::move(link)) {
  process::BecomeSubreaper();
  thread_ = std::thread([this, options, identity = std::move(identity)]() mutable {
    Run(options, std::move(identity));
  });
}

LocalAgent::~LocalAgent() {
  stop_.Wake();
  thread_.join();
}

void LocalAgent::Run(const Options& options, v1::NodeObserved identity) {
  shim::PosixShimHost shims({.shim_path = options.shim_path,
                             .cgroups = options.cgroups,
                             .inherit_fd = options.inherit_fd,
                             .open_files = options.open_files,
                             .spill_dir = options.spill_dir});
  agent::StoreSockets store_sockets(identity.address(), 1, options.ports);
  agent::NoLogRelays relays;
  agent::Agent agent(
      {.identity = std::move(identity), .base_env = agent::BaseEnv(), .jobs_dir = options.jobs_dir},
      {.shims = &shims,
       .link = link_.get(),
       .store_sockets = &store_sockets,
       .relays = &relays,
       .clock = common::SteadyClock()});
  // The status is ignored: the link is lost only when the run ends, which stop_ also signals.
  const absl::Status ended = agent.Run(stop_.get());
  static_cast<void>(ended);
}

}  // namespace accel::cli
