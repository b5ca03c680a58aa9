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

bool IsForeign(const ClusterState& state, const std::string& node,
               const v1::ObservedGeneration& part) {
  const v1::GenerationRecord* record = FindRecord(state, part);
  return record != nullptr &&
         std::none_of(record->placements().begin(), record->placements().end(),
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
