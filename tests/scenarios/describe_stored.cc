#include "tests/scenarios/describe_stored.h"

#include <algorithm>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"

namespace accel::scenarios {
namespace {

std::string Text(absl::Time time) { return absl::FormatTime(time, absl::UTCTimeZone()); }

template <typename Ids>
std::string Join(const Ids& ids) {
  return absl::StrJoin(ids, ",",
                       [](std::string* out, const auto& id) { absl::StrAppend(out, id.value()); });
}

std::string DescribeJob(const coordinator::JobEntry& entry) {
  return absl::StrCat(
      entry.job.ShortDebugString(), "\n  cancel ", entry.cancel, " ", entry.cancel_at_once,
      " grace ", absl::FormatDuration(entry.stop_grace), " end_by ", Text(entry.end_by),
      " started ", Text(entry.started), " not_before ", Text(entry.not_before), " quick ",
      entry.history.quick, " alike ", entry.history.alike, " ", entry.history.signature, " blamed ",
      entry.history.blamed, " ", entry.history.blamed_node.value(), " failures ",
      entry.history.failures.size(), " losses ", entry.history.membership_changes.size(), " avoid ",
      Join(entry.avoid), " failed ", Text(entry.failed.earliest), " ", Text(entry.failed.latest),
      " spends ", static_cast<int>(entry.spends), " ", entry.cancelled_since, " ",
      entry.reports_checkpoints, " stop seen ", entry.stop_seen, "\n");
}

std::string JoinJobs(const coordinator::NodeEntry& node) {
  return absl::StrJoin(node.jobs, ",", [](std::string* text, const auto& job) {
    absl::StrAppend(text, job.first.value(), ":", job.second);
  });
}

std::string DescribeNode(const common::NodeId& id, const coordinator::NodeEntry& node) {
  std::set<uint64_t> in_use;
  for (const auto& [socket, held] : node.consumed_sockets) {
    if (held) in_use.insert(socket);
  }
  return absl::StrCat("node ", id.value(), " ", node.observed.name(), " ", node.observed.address(),
                      " ", node.observed.boot_id(), " ", node.observed.incarnation(), " jobs ",
                      JoinJobs(node), " drain ", v1::Drain_Name(node.drain),
                      node.given_up ? " given up" : "", " sockets ", absl::StrJoin(in_use, ","),
                      "\n");
}

}  // namespace

std::string DescribeStored(const coordinator::ClusterState& state) {
  std::string text = absl::StrCat("cluster ", state.facts.cluster_id, " gpus ", state.gpus_seen);
  for (const auto& [id, entry] : state.jobs) {
    absl::StrAppend(&text, "\njob ", id.value(), " ", DescribeJob(entry));
  }
  std::vector<std::string> nodes;
  for (const auto& [id, node] : state.nodes) nodes.push_back(DescribeNode(id, node));
  std::sort(nodes.begin(), nodes.end());
  absl::StrAppend(&text, absl::StrJoin(nodes, ""));
  absl::StrAppend(&text, "unfinished ", Join(state.unfinished.ids()), "\n");
  // The order of jobs that ended in the same millisecond has no meaning.
  std::set<common::JobId> finished(state.finished.begin(), state.finished.end());
  absl::StrAppend(&text, "finished ", Join(finished), "\n");
  std::vector<std::string> submits;
  for (const auto& [submit, id] : state.submits) {
    submits.push_back(absl::StrCat(submit, "=", id.value()));
  }
  std::sort(submits.begin(), submits.end());
  return absl::StrCat(text, "submits ", absl::StrJoin(submits, ","), "\nended ",
                      state.ended.size());
}

}  // namespace accel::scenarios
