#include "agent/core/local_generations.h"

#include <algorithm>
#include <vector>

#include "agent/core/conversion.h"
#include "agent/core/report_texts.h"

namespace accel::agent {

LocalGeneration* LocalGenerations::Insert(const common::GenerationId& id, GenerationState state) {
  LocalGeneration& local = generations_[id];
  local.observed.set_job_id(id.job.value());
  local.observed.set_generation(id.generation);
  local.observed.set_state(state);
  ++revision_;
  Count(state);
  return &local;
}

void LocalGenerations::Adopt(const shim::GenerationReport& report) {
  LocalGeneration* local = Insert(report.id, ToProto(report.state));
  local->orphan_grace = report.orphan_grace;
  ToProto(report, &local->observed);
  BoundTexts();
}

void LocalGenerations::Update(const shim::GenerationReport& report) {
  LocalGeneration* local = Find(report.id);
  if (local == nullptr || local->ended()) return;
  const GenerationState to = ToProto(report.state);
  if (to != local->observed.state() && !IsLegalStep(local->observed.state(), to)) return;
  ToProto(report, &local->observed);
  ++revision_;
  Count(to);
  BoundTexts();
}

void LocalGenerations::Step(LocalGeneration* local, GenerationState to) {
  local->observed.set_state(to);
  ++revision_;
  ++news_;
}

void LocalGenerations::Forget(const common::GenerationId& id) {
  const auto found = generations_.find(id);
  if (found == generations_.end() || !found->second.ended()) return;
  generations_.erase(found);
  ++revision_;
}

LocalGeneration* LocalGenerations::Find(const common::GenerationId& id) {
  const auto found = generations_.find(id);
  return found == generations_.end() ? nullptr : &found->second;
}

const LocalGeneration* LocalGenerations::Find(const common::GenerationId& id) const {
  const auto found = generations_.find(id);
  return found == generations_.end() ? nullptr : &found->second;
}

bool LocalGenerations::IsAlive(const common::GenerationId& id) const {
  const LocalGeneration* local = Find(id);
  return local != nullptr && !local->ended();
}

bool LocalGenerations::AnyIsAlive(const common::JobId& job) const {
  return std::any_of(generations_.begin(), generations_.end(), [&](const auto& entry) {
    return entry.first.job == job && !entry.second.ended();
  });
}

std::optional<common::Generation> LocalGenerations::Newest(const common::JobId& job) const {
  std::optional<common::Generation> newest;
  for (const auto& [id, local] : generations_) {
    if (id.job == job) newest = std::max(newest.value_or(id.generation), id.generation);
  }
  return newest;
}

std::set<common::JobId> LocalGenerations::jobs() const {
  std::set<common::JobId> jobs;
  for (const auto& [id, local] : generations_) jobs.insert(id.job);
  return jobs;
}

ClusterHoldings LocalGenerations::Holdings() const {
  ClusterHoldings holdings;
  for (const auto& [id, local] : generations_) {
    // A generation that waits for its start has no process.
    if (local.ended()) {
      holdings.results = true;
    } else if (!local.to_start.has_value()) {
      holdings.processes = true;
    }
  }
  return holdings;
}

ClusterHoldings LocalGenerations::HoldingsOf(Leaver leaver) const {
  ClusterHoldings holdings;
  for (const auto& [id, local] : generations_) {
    if (leaver == Leaver::kAgent && !local.ends_with_agent) continue;
    (local.ended() ? holdings.results : holdings.processes) = true;
  }
  return holdings;
}

LocalGenerations::Results LocalGenerations::CountResults() const {
  Results results;
  for (const auto& [id, local] : generations_) {
    if (!local.ended()) continue;
    ++results.generations;
    results.workers += local.observed.workers_size();
  }
  return results;
}

void LocalGenerations::Count(GenerationState state) {
  ++(state == v1::ObservedGeneration::STARTING ? starts_ : news_);
}

void LocalGenerations::BoundTexts() {
  int64_t bytes = 0;
  // Job ids sort by the time of submission, so the map has the oldest job first.
  std::vector<v1::ObservedGeneration*> oldest_first;
  for (auto& [id, local] : generations_) {
    bytes += TextBytes(local.observed);
    oldest_first.push_back(&local.observed);
  }
  ShortenTexts(bytes - kMaxTextBytes, oldest_first);
}

}  // namespace accel::agent
