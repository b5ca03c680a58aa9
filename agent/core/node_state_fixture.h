// For tests of NodeState: makes the messages that they pass to it, and turns its actions into text.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "agent/core/node_state.h"

namespace accel::agent {

inline constexpr int64_t kMaxBytes = 12 << 20;

inline v1::NodeObserved Identity() {
  v1::NodeObserved identity;
  identity.set_node_id("n1");
  identity.set_incarnation("i1");
  return identity;
}

inline v1::NodeDesired Desired(uint64_t version) {
  v1::NodeDesired desired;
  desired.set_version(version);
  desired.set_incarnation("i1");
  return desired;
}

inline v1::DesiredGeneration* AddStart(v1::NodeDesired* desired, const std::string& job,
                                       int generation) {
  v1::DesiredGeneration* start = desired->add_generations();
  start->mutable_key()->set_job_id(job);
  start->mutable_key()->set_generation(generation);
  start->set_failure_grace_ms(5000);
  start->add_workers();
  return start;
}

inline v1::DesiredGeneration* AddStop(v1::NodeDesired* desired, const std::string& job,
                                      int generation, int64_t grace_ms) {
  v1::DesiredGeneration* stop = desired->add_generations();
  stop->mutable_key()->set_job_id(job);
  stop->mutable_key()->set_generation(generation);
  stop->set_stop(true);
  stop->set_grace_ms(grace_ms);
  return stop;
}

inline void AddForget(v1::NodeDesired* desired, const std::string& job, int generation) {
  v1::GenerationKey* key = desired->add_forget();
  key->set_job_id(job);
  key->set_generation(generation);
}

inline std::vector<std::string> Names(const std::vector<AgentAction>& actions) {
  struct Namer {
    std::string operator()(const StartPart& a) {
      return "start " + a.desired.key().job_id() + "/" +
             std::to_string(a.desired.key().generation()) + (a.with_shim ? " with shim" : "");
    }
    std::string operator()(const StopPart& a) {
      return "stop " + a.stop.id.job.value() + "/" + std::to_string(a.stop.id.generation) + " " +
             absl::FormatDuration(a.stop.grace);
    }
    std::string operator()(const EndShim& a) { return "end " + a.job.value(); }
  };
  std::vector<std::string> names;
  for (const AgentAction& action : actions) names.push_back(std::visit(Namer(), action));
  return names;
}

inline shim::ShimReport Report(const std::string& job, int generation,
                               shim::GenerationReport::State state) {
  shim::ShimReport report{.job = common::JobId(job)};
  report.generation.emplace();
  report.generation->id = {common::JobId(job), generation};
  report.generation->state = state;
  return report;
}

// Returns a node on which generation 1 of job "a" is running.
inline NodeState Running() {
  NodeState node(Identity());
  v1::NodeDesired desired = Desired(1);
  AddStart(&desired, "a", 1);
  node.SetDesired(desired);
  node.Reconcile();
  node.Apply(Report("a", 1, shim::GenerationReport::State::kRunning));
  return node;
}

}  // namespace accel::agent
