#include "cli/local_cluster.h"

#include <utility>

#include "agent/base_env.h"
#include "agent/identity.h"
#include "agent/probe/inventory.h"
#include "common/check.h"
#include "common/status_macros.h"
#include "process/sweep.h"

namespace accel::cli {
namespace {

constexpr char kAddress[] = "127.0.0.1";

coordinator::Limits OneNode() {
  coordinator::Limits limits;
  limits.fixed_nodes = 1;
  // The node is a thread of this process, so silence cannot mean that the node is lost.
  limits.node_timeout = absl::Hours(1);
  limits.longest_heartbeat = absl::Minutes(1);
  return limits;
}

}  // namespace

absl::StatusOr<std::unique_ptr<LocalCluster>> LocalCluster::Start(const Options& options) {
  process::BecomeSubreaper();
  ACCEL_ASSIGN_OR_RETURN(v1::Inventory inventory, agent::ProbeInventory(options.with_gpus));
  ACCEL_ASSIGN_OR_RETURN(v1::NodeObserved identity,
                         agent::MakeIdentity(common::NodeId("local"), agent::HostName(), kAddress,
                                             std::move(inventory)));
  return std::unique_ptr<LocalCluster>(new LocalCluster(options, std::move(identity)));
}

LocalCluster::LocalCluster(const Options& options, v1::NodeObserved identity)
    : loop_({.store = &store_, .limits = OneNode()}) {
  ACCEL_CHECK(loop_.Load().ok(),
              "a memory store that is new holds nothing that could be unreadable");
  loop_.Start();
  agent_ = std::thread([this, options, identity = std::move(identity)]() mutable {
    RunAgent(options, std::move(identity));
  });
}

LocalCluster::~LocalCluster() {
  stop_.Wake();
  agent_.join();
  loop_.Stop();
}

void LocalCluster::RunAgent(const Options& options, v1::NodeObserved identity) {
  shim::PosixShimHost shims({.shim_path = options.shim_path,
                             .cgroups = options.cgroups,
                             .inherit_fd = options.inherit_fd,
                             .open_files = options.open_files,
                             .spill_dir = options.spill_dir});
  LocalLink link(&loop_);
  agent::StoreSockets store_sockets(kAddress, 1);
  agent::NoLogRelays relays;
  agent::Agent agent(
      {.identity = std::move(identity), .base_env = agent::BaseEnv(), .jobs_dir = options.jobs_dir},
      {.shims = &shims,
       .link = &link,
       .store_sockets = &store_sockets,
       .relays = &relays,
       .clock = common::SteadyClock()});
  // The status is ignored: the link is lost only when the cluster ends, which stop_ also signals.
  const absl::Status ended = agent.Run(stop_.get());
  static_cast<void>(ended);
}

}  // namespace accel::cli
