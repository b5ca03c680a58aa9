#include "coordinator/node_status.h"

#include <algorithm>
#include <set>

namespace accel {
namespace {

v1::NodeStatus DescribeNode(const ClusterState& state, const NodeEntry& node, absl::Time now) {
  const v1::NodeObserved& observed = node.observed;
  v1::NodeStatus status;
  status.set_node_id(observed.node_id());
  status.set_name(observed.name());
  status.set_address(observed.address());
  status.set_version(observed.version());
  *status.mutable_inventory() = observed.inventory();
  status.set_connected(IsConnected(state, node, now));
  status.set_refuses_work(WhyRefuses(node, now));
  std::set<int> gpus;
  for (const JobId& job : node.jobs) {
    const v1::GenerationRecord& generation = *CurrentGeneration(state.jobs.at(job).job);
    v1::GenerationKey* key = status.add_running();
    key->set_job_id(job.value());
    key->set_generation(generation.generation());
    for (const v1::Placement& placement : generation.placements()) {
      if (placement.node_id() != observed.node_id()) continue;
      gpus.insert(placement.gpu_ids().begin(), placement.gpu_ids().end());
    }
  }
  status.mutable_gpus_in_use()->Add(gpus.begin(), gpus.end());
  return status;
}

}  // namespace

v1::ListNodesResponse DescribeNodes(const ClusterState& state, absl::Time now) {
  v1::ListNodesResponse response;
  for (const auto& [id, node] : state.nodes) *response.add_nodes() = DescribeNode(state, node, now);
  std::sort(response.mutable_nodes()->begin(), response.mutable_nodes()->end(),
            [](const v1::NodeStatus& a, const v1::NodeStatus& b) {
              return a.name() != b.name() ? a.name() < b.name() : a.node_id() < b.node_id();
            });
  return response;
}

}  // namespace accel
