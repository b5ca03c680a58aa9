#include "coordinator/node_status.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "coordinator/core/job_state.h"

namespace accel::coordinator {
namespace {

// The generations and GPUs in use on one node.
struct Held {
  std::vector<v1::GenerationKey> running;
  std::set<int> gpus;
};

std::map<std::string, Held> HeldByNode(const std::map<common::JobId, JobVersions>& jobs) {
  std::map<std::string, Held> held;
  for (const auto& [id, versions] : jobs) {
    const std::shared_ptr<const v1::Job> job = versions.newest();
    if (!HoldsNodes(job->phase())) continue;
    const v1::GenerationRecord& generation = *CurrentGeneration(*job);
    for (const v1::Placement& placement : generation.placements()) {
      Held& node = held[placement.node_id()];
      v1::GenerationKey& key = node.running.emplace_back();
      key.set_job_id(id.value());
      key.set_generation(generation.generation());
      node.gpus.insert(placement.gpu_ids().begin(), placement.gpu_ids().end());
    }
  }
  return held;
}

v1::NodeStatus DescribeNode(const ClusterState& state, const NodeEntry& node, const Held& held,
                            absl::Time now) {
  const v1::NodeObserved& observed = node.observed;
  v1::NodeStatus status;
  status.set_node_id(observed.node_id());
  status.set_name(observed.name());
  status.set_address(observed.address());
  status.set_version(observed.version());
  *status.mutable_inventory() = observed.inventory();
  status.set_connected(IsConnected(state, node, now));
  status.set_refuses_work(WhyRefuses(node, now));
  status.set_drain(node.drain);
  status.set_runs_all_as(observed.runs_all_as());
  for (const v1::GenerationKey& key : held.running) *status.add_running() = key;
  status.mutable_gpus_in_use()->Add(held.gpus.begin(), held.gpus.end());
  return status;
}

}  // namespace

v1::ListNodesResponse DescribeNodes(const ClusterState& state,
                                    const std::map<common::JobId, JobVersions>& jobs,
                                    absl::Time now) {
  std::map<std::string, Held> held = HeldByNode(jobs);
  v1::ListNodesResponse response;
  response.set_heartbeat_ms(absl::ToInt64Milliseconds(Heartbeat(state)));
  response.set_node_timeout_ms(absl::ToInt64Milliseconds(NodeTimeout(state)));
  for (const auto& [id, node] : state.nodes) {
    *response.add_nodes() = DescribeNode(state, node, held[id.value()], now);
  }
  std::sort(response.mutable_nodes()->begin(), response.mutable_nodes()->end(),
            [](const v1::NodeStatus& a, const v1::NodeStatus& b) {
              return a.name() != b.name() ? a.name() < b.name() : a.node_id() < b.node_id();
            });
  return response;
}

}  // namespace accel::coordinator
