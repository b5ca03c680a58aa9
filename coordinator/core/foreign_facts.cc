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
bool IsIndexed(const NodeEntry& node, const std::string& node_id, const common::JobId& job,
               const v1::GenerationRecord& record) {
  const auto part = node.jobs.find(job);
  return part != node.jobs.end() && part->second < record.placements_size() &&
         record.placements(part->second).node_id() == node_id;
}

bool IsForeign(const ClusterState& state, const NodeEntry& node, const std::string& node_id,
               const v1::ObservedGeneration& part) {
  const v1::GenerationRecord* record = FindRecord(state, part);
  if (record == nullptr) return false;
  // The index answers for nearly all parts. Without it, ten thousand reports about one generation
  // would each look through ten thousand placements.
  if (IsIndexed(node, node_id, common::JobId(part.job_id()), *record)) return false;
  return std::none_of(
      record->placements().begin(), record->placements().end(),
      [&node_id](const v1::Placement& placed) { return placed.node_id() == node_id; });
}

}  // namespace

int64_t DropForeignGenerations(const ClusterState& state, const NodeEntry& node,
                               v1::NodeObserved* report) {
  auto* parts = report->mutable_generations();
  const int before = parts->size();
  const auto kept = std::remove_if(parts->begin(), parts->end(), [&](const auto& part) {
    return IsForeign(state, node, report->node_id(), part);
  });
  parts->erase(kept, parts->end());
  return before - parts->size();
}

}  // namespace accel::coordinator
