#include "coordinator/sessions.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/log.h"
#include "common/version.h"
#include "coordinator/core/observe.h"
#include "coordinator/core/report_effects.h"

namespace accel::coordinator {

namespace {

// Returns the name of the node that the report is about.
const std::string& NameIn(const NodeReport& report, const ClusterState& state) {
  if (report.is_whole()) return report.observed.name();
  const auto node = state.nodes.find(common::NodeId(report.observed.node_id()));
  return node == state.nodes.end() ? report.observed.name() : node->second.observed.name();
}

void LogConnected(const std::string& name, const common::NodeId& node, const std::string& version) {
  if (version.empty() || version == common::kVersion) {
    common::LogInfo("node connected", {{"node", name}, {"node_id", node.value()}});
  } else {
    common::LogWarning("node connected with another version of accel",
                       {{"node", name},
                        {"node_id", node.value()},
                        {"agent", version},
                        {"coordinator", common::kVersion}});
  }
}

// Checks that a node with a certificate has the name by which it joined. Otherwise it could take
// the name of another node, which is how people tell nodes apart.
absl::Status CheckName(const Caller& caller, const NodeReport& report, const ClusterState& state) {
  if (caller.kind != CallerKind::kNode) return absl::OkStatus();
  const std::string& name = NameIn(report, state);
  const auto member = state.access.members.find({v1::NODE_MEMBER, caller.name});
  if (member == state.access.members.end() || member->second.name() == name) {
    return absl::OkStatus();
  }
  return absl::PermissionDeniedError(absl::StrCat("name: the agent calls its node ", name,
                                                  ", which has joined as ", member->second.name(),
                                                  "; start it without --name"));
}

}  // namespace

void Sessions::Open(SessionOpened opened) {
  if (sessions_.size() >= kMaxSessions) {
    return opened.callbacks.on_closed(absl::ResourceExhaustedError(absl::StrCat(
        kMaxSessions, " agents' streams are open, which is the maximum; try again later")));
  }
  Session& session = sessions_[opened.session];
  session.callbacks = std::move(opened.callbacks);
  session.caller = std::move(opened.caller);
}

void Sessions::Report(ReportEvent event, ClusterState* state, Changes* changes) {
  const auto found = sessions_.find(event.session);
  if (found == sessions_.end()) {
    ++state->stale.sessions;
    return NoteStale(event.at, *state);
  }
  if (!event.refused.ok()) return End(event.session, event.refused, state);
  Session& session = found->second;
  const v1::NodeObserved& observed = event.report.observed;
  if (!session.node.empty() && session.node.value() != observed.node_id()) {
    return End(event.session, absl::InvalidArgumentError("node_id: changed within one stream"),
               state);
  }
  if (session.caller.kind == CallerKind::kNode && session.caller.name != observed.node_id()) {
    return End(event.session,
               absl::PermissionDeniedError(absl::StrCat(
                   "node_id: the report is not about node ", session.caller.name,
                   ", for which this agent's certificate is; was its state directory copied?")),
               state);
  }
  // The member may have got another name since the report before.
  if (const absl::Status named = CheckName(session.caller, event.report, *state); !named.ok()) {
    return End(event.session, named, state);
  }
  const absl::Time at = event.at;
  // Copies what is needed after Observe(), which takes the report away.
  const bool is_first = session.node.empty();
  const common::NodeId node(is_first ? observed.node_id() : "");
  const std::string name = is_first ? observed.name() : "";
  const std::string version = is_first ? observed.version() : "";
  const StaleCounts before = state->stale;
  SessionId superseded = 0;
  const absl::Status taken =
      Observe(event.session, std::move(event.report), event.at, state, changes, &superseded);
  if (state->stale != before) NoteStale(at, *state);
  if (superseded != 0) {
    End(superseded,
        absl::AlreadyExistsError(
            absl::StrCat("node ", name, " (", node.value(), ") has connected over a newer stream")),
        state);
  }
  if (!taken.ok()) return End(event.session, taken, state);
  if (is_first) {
    session.node = node;
    LogConnected(name, node, version);
  }
}

void Sessions::NoteStale(absl::Time now, const ClusterState& state) {
  if (!stale_.Admit(now).has_value()) return;
  common::LogWarning("ignored reports that are out of date",
                     {{"reports_of_older_streams", state.stale.sessions},
                      {"running_parts_of_older_generations", state.stale.generations},
                      {"parts_of_other_nodes", state.stale.foreign}});
}

void Sessions::Expel(const common::NodeId& node, ClusterState* state, Changes* changes) {
  const auto entry = state->nodes.find(node);
  if (entry == state->nodes.end()) return;
  const SessionId session = entry->second.session;
  const auto found = sessions_.find(session);
  if (found != sessions_.end() && found->second.caller.kind != CallerKind::kNode) return;
  LoseNode(node, "its certificate was revoked", state, changes);
  changes->nodes.insert(node);
  End(session, absl::UnauthenticatedError("the node's certificate was revoked"), state);
}

void Sessions::Drop(SessionId session, ClusterState* state) {
  const auto found = sessions_.find(session);
  if (found == sessions_.end()) return;
  Leave(session, found->second.node, state);
  common::LogInfo("agent's stream closed", {{"node_id", found->second.node.value()}});
  sessions_.erase(found);
}

void Sessions::End(SessionId session, absl::Status why, ClusterState* state) {
  const auto found = sessions_.find(session);
  if (found == sessions_.end()) return;
  Session ended = std::move(found->second);
  sessions_.erase(found);
  Leave(session, ended.node, state);
  common::LogWarning("agent's stream ended",
                     {{"node_id", ended.node.value()}, {"why", why.ToString()}});
  ended.callbacks.on_closed(std::move(why));
}

void Sessions::Leave(SessionId session, const common::NodeId& node, ClusterState* state) {
  CloseSession(session, node, state);
  log_hub_.LoseNode(node);
}

void Sessions::Publish(const common::NodeId& node, absl::Time now, ClusterState* state,
                       SharedStarts* starts) {
  const auto entry = state->nodes.find(node);
  if (entry == state->nodes.end()) return;
  const auto found = sessions_.find(entry->second.session);
  if (found == sessions_.end()) return;
  const std::vector<v1::LogReader> readers = log_hub_.ReadersOn(node);
  std::string signature = DesiredSignature(*state, entry->second, readers);
  if (signature == found->second.signature && !NeedsAnswer(entry->second, now)) return;
  found->second.signature = std::move(signature);
  const uint64_t version = ++state->revision;
  auto desired = std::make_shared<const Desired>(
      BuildDesired(*state, entry->second, readers, version, starts));
  entry->second.clock.Sent(version, now);
  found->second.callbacks.on_desired(std::move(desired));
}

void Sessions::Close() {
  for (auto& [id, session] : std::exchange(sessions_, {})) {
    session.callbacks.on_closed(absl::UnavailableError("the coordinator is shutting down"));
  }
}

}  // namespace accel::coordinator
