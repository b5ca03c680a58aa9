#include "coordinator/core/foreign_facts.h"

#include <algorithm>

namespace accel::coordinator {
namespace {

// Returns null if the coordinator does not know the generation, or no longer keeps its record.
const v1::GenerationRecord* FindRecord(const ClusterState& state,
                                       const v1::ObservedGeneration& part) {
  const auto entry = state.jobs.find(common::JobId(part.job_id()));
  if (entry == state.jobs.end()) return nullptr;
  for (const v1::GenerationRecord& record : entry->second.job.generations()) {
    if (record.generation() == part.generation()) return &record;
  }
  return nullptr;
}

// Returns true if the node's own index of its jobs says that the generation has a part on it. False
// if the generation is not the job's current one.
bool IsIndexed(const ClusterState& state, const common::NodeId& node, const common::JobId& job,
               const v1::GenerationRecord& record) {
  const auto entry = state.nodes.find(node);
  if (entry == state.nodes.end()) return false;
  const auto part = entry->second.jobs.find(job);
  return part != entry->second.jobs.end() && part->second < record.placements_size() &&
         record.placements(part->second).node_id() == node.value();
}

bool IsForeign(const ClusterState& state, const std::string& node,
               const v1::ObservedGeneration& part) {
  const v1::GenerationRecord* record = FindRecord(state, part);
  if (record == nullptr) return false;
  // The index answers for nearly all parts. Without it, ten thousand reports about one generation
  // would each look through ten thousand placements.
  if (IsIndexed(state, common::NodeId(node), common::JobId(part.job_id()), *record)) return false;
  return std::none_of(record->placements().begin(), record->placements().end(),
                      [&node](const v1::Placement& placed) { return placed.node_id() == node; });
}

}  // namespace

int64_t DropForeignGenerations(const ClusterState& state, v1::NodeObserved* report) {
  auto* parts = report->mutable_generations();
  const int before = parts->size();
  const auto kept = std::remove_if(parts->begin(), parts->end(), [&](const auto& part) {
    return IsForeign(state, report->node_id(), part);
  });
  parts->erase(kept, parts->end());
  return before - parts->size();
}

}  // namespace accel::coordinator
