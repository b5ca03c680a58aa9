#include "cli/local_cluster.h"

#include <utility>

#include "agent/identity.h"
#include "agent/probe/inventory.h"
#include "cli/local_link.h"
#include "common/check.h"
#include "common/status_macros.h"

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

absl::StatusOr<std::unique_ptr<LocalCluster>> LocalCluster::Start(
    const LocalAgent::Options& options) {
  ACCEL_ASSIGN_OR_RETURN(v1::Inventory inventory, agent::ProbeInventory(options.with_gpus));
  ACCEL_ASSIGN_OR_RETURN(v1::NodeObserved identity,
                         agent::MakeIdentity(common::NodeId("local"), agent::HostName(), kAddress,
                                             std::move(inventory)));
  return std::unique_ptr<LocalCluster>(new LocalCluster(options, std::move(identity)));
}

LocalCluster::LocalCluster(const LocalAgent::Options& options, v1::NodeObserved identity)
    : loop_({.store = &store_, .limits = OneNode()}) {
  ACCEL_CHECK(loop_.Load().ok(),
              "a memory store that is new holds nothing that could be unreadable");
  loop_.Start();
  agent_ = std::make_unique<LocalAgent>(options, std::move(identity),
                                        std::make_unique<LocalLink>(&loop_));
}

LocalCluster::~LocalCluster() {
  agent_.reset();
  loop_.Stop();
}

}  // namespace accel::cli
