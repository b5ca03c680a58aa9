// The part of the agent that decides which coordinator it obeys.

#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/agent.h"
#include "common/log.h"
#include "common/status_macros.h"

namespace accel::agent {
namespace {

constexpr size_t kMaxClusterIdBytes = 128;

}  // namespace

bool Agent::MayObey(const v1::NodeDesired& desired) {
  // The state refuses and counts it.
  if (desired.incarnation() != options_.identity.incarnation()) return true;
  const std::string& theirs = desired.cluster_id();
  if (theirs.size() > kMaxClusterIdBytes) {
    state_.Refuse(absl::StrCat("this coordinator's cluster id has ", theirs.size(),
                               " bytes; at most ", kMaxClusterIdBytes));
    return false;
  }
  const ClusterHoldings has = state_.Holdings();
  switch (membership_.Judge(theirs, has, with_.clock->Now())) {
    case ClusterMembership::Verdict::kObey:
      return true;
    case ClusterMembership::Verdict::kJoin: {
      const absl::Status joined = Join(theirs);
      if (!joined.ok()) state_.Refuse(std::string(joined.message()));
      return joined.ok();
    }
    case ClusterMembership::Verdict::kRefuse:
      break;
  }
  const uint64_t before = state_.revision();
  const size_t jobs = state_.jobs().size();
  const bool one = jobs == 1;
  const char* state = has.processes ? (one ? "continues" : "continue")
                                    : (one ? "has a result to store" : "have results to store");
  state_.Refuse(absl::StrCat("belongs to cluster ", membership_.cluster(), " and has ", jobs,
                             one ? " job" : " jobs", " of it, which ", state, "; this is cluster ",
                             theirs));
  if (state_.revision() != before) {
    common::LogWarning("obeys no coordinator of another cluster; jobs continue",
                       {{"cluster", membership_.cluster()}, {"coordinator_of", theirs}});
  }
  return false;
}

absl::Status Agent::Join(const std::string& cluster) {
  if (options_.remember_cluster) ACCEL_RETURN_IF_ERROR(options_.remember_cluster(cluster));
  common::LogInfo("joins a cluster", {{"cluster", cluster}, {"left", membership_.cluster()}});
  membership_.Join(cluster);
  return absl::OkStatus();
}

void Agent::Obey(v1::NodeDesired desired) {
  const uint64_t version = desired.version();
  state_.SetDesired(std::move(desired));
  if (state_.desired().version() == version) answered_at_ = with_.clock->Now();
  NoteRefusals();
  // Act() replaces them by new ones, and the next report lists those.
  for (const uint64_t id : state_.desired().close_sockets()) with_.store_sockets->Take(id);
  if (const int64_t ms = state_.desired().heartbeat_ms(); ms > 0)
    heartbeat_ = absl::Milliseconds(ms);
}

}  // namespace accel::agent
