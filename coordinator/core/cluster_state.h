// The whole state of the coordinator. Plain data: events change it through facts.h, the planner's
// actions through perform.h, and nothing else does. Jobs and nodes are protobuf messages
// (docs/decisions/0001).
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "common/ids.h"
#include "coordinator/core/ended_jobs.h"
#include "coordinator/core/job_id.h"
#include "coordinator/core/node_health.h"
#include "proto/job.pb.h"
#include "proto/node.pb.h"

namespace accel::coordinator {

// One stream of one agent. 0: none.
using SessionId = uint64_t;

struct Limits {
  absl::Duration node_timeout = absl::Seconds(5);  // Silence after which a node counts as lost.
  // What an agent may need to find back after its connection broke.
  absl::Duration longest_reconnect = absl::Seconds(15);
  absl::Duration longest_heartbeat = absl::Seconds(2);  // See Heartbeat().
  absl::Duration start_deadline = absl::Seconds(60);
  absl::Duration cancel_grace = absl::Seconds(30);  // Cancel and time limit.
  absl::Duration failure_grace = absl::Seconds(5);
  int max_unfinished_jobs = 10'000;
  int max_finished_jobs = 1'000;  // The newest are kept.
  // In memory, of all jobs together with their generations. Finished jobs have what half of it the
  // others leave.
  int64_t max_job_bytes = int64_t{512} << 20;
  int64_t max_report_bytes = int64_t{1} << 30;   // In memory, of all nodes' newest reports.
  int64_t max_ended_bytes = int64_t{256} << 20;  // What is remembered of jobs no longer kept.
  int max_nodes = 10'000;
  int generations_per_node = 64;  // At once.
  int max_replans = 100;          // Of one job.
  // Of one job in a row: more spend its budget, for the fault may be its own.
  int max_start_failures = 10;
  // See restart_pause.h.
  absl::Duration first_restart_pause = absl::Seconds(1);
  absl::Duration longest_restart_pause = absl::Minutes(1);
  absl::Duration steady_after = absl::Seconds(10);
  int generation_records = 32;  // Of one job, at least 1; the newest are kept.
  // Above 0: the cluster has exactly this many nodes. Once they are connected, a job that does not
  // fit fails at once instead of waiting for more.
  int fixed_nodes = 0;
};

// How often a node reports at the least: twice within node_timeout, with room for one report that
// is late.
absl::Duration Heartbeat(const Limits& limits);

struct NodeEntry {
  v1::NodeObserved observed;   // The newest of its newest incarnation.
  int64_t observed_bytes = 0;  // In memory.
  SessionId session = 0;
  absl::Time joined;  // When its present stream brought the first report.
  absl::Time last_heard;
  NodeHealth health;
  std::set<common::JobId> jobs;  // Those whose current generation has a part here.
  // Spare store sockets that a plan has used. The value is the revision from which on no desired
  // state wants it any more: an agent that has acted on it and still lists the socket never used
  // it, so it is free again.
  std::map<uint64_t, uint64_t> consumed_sockets;
  // A generation was given up here though the agent may still start it: a desired state that asks
  // for it may be under way. The node takes new work once it has acted on this revision or a later
  // one, because these do not want that generation.
  uint64_t settled_from = 0;
};

inline constexpr uint64_t kInUse = ~uint64_t{0};

struct JobEntry {
  v1::Job job;
  bool cancel = false;  // Asked for and not yet acted on.
  bool cancel_at_once = false;
  absl::Duration stop_grace;                     // While STOPPING: TERM to KILL.
  absl::Time start_by = absl::InfiniteFuture();  // While STARTING.
  absl::Time end_by = absl::InfiniteFuture();    // The job's time limit.
  absl::Time started;                            // Its current generation.
  int quick_failures = 0;                        // In a row: see restart_pause.h.
  absl::Time not_before = absl::InfinitePast();  // While RESTARTING.
  // Could not start the newest generations: others are preferred. Empty once one has started.
  std::set<common::NodeId> avoid;
  // The first revisions whose desired states ask nodes to start, to stop, the current generation.
  uint64_t start_revision = 0;
  uint64_t stop_revision = 0;
  // In memory, as counted in ClusterState::job_bytes; of these, those of its newest generation and
  // cause, which may still grow.
  int64_t bytes = 0;
  int64_t newest_bytes = 0;
};

// What was refused because it came from a past world (invariant 5).
struct StaleCounts {
  int64_t sessions =
      0;  // Reports of a session that another has taken over from, or out of sequence.
  int64_t generations = 0;  // Parts with processes of generations that are over.
  bool operator==(const StaleCounts&) const = default;
};

struct ClusterState {
  Limits limits;
  // Since then the coordinator has listened to its nodes without a gap: see presence.h.
  absl::Time present_since;
  absl::Time listened_at;  // The last time.
  // Rises with everything that changes what nodes shall do; stamps desired states. Starts above all
  // that an earlier coordinator can have sent.
  uint64_t revision = 0;
  JobIdIssuer ids;
  std::map<common::NodeId, NodeEntry> nodes;
  bool gpus_seen = false;  // Some node has reported one, also if that node is away now.
  absl::flat_hash_map<std::string, common::NodeId> node_names;  // Who had the name last.
  std::map<common::JobId, JobEntry> jobs;                       // Ids sort by age.
  std::set<common::JobId> unfinished;
  std::deque<common::JobId> finished;  // Oldest first.
  absl::flat_hash_map<std::string, common::JobId> submits;
  EndedJobs ended;  // Those that were dropped from `jobs`.
  int64_t job_bytes = 0;
  int64_t report_bytes = 0;
  StaleCounts stale;
};

// What became different and is not yet stored.
struct Changes {
  std::set<common::JobId> put;
  std::set<common::JobId> erase;
  std::set<common::NodeId> nodes;  // Whose desired state may be another.

  bool durable() const { return !put.empty() || !erase.empty(); }
};

// Null: no such job.
JobEntry* FindJob(ClusterState* state, const common::JobId& id);
const JobEntry* FindJob(const ClusterState& state, const common::JobId& id);

// The record of its newest generation; null before the first.
const v1::GenerationRecord* CurrentGeneration(const v1::Job& job);

// Whether this generation may have processes: it is its job's newest and the job's phase holds
// nodes.
bool IsLive(const ClusterState& state, const common::JobId& job, common::Generation generation);

const v1::ObservedGeneration* FindObserved(const NodeEntry& node, const common::JobId& job,
                                           common::Generation generation);

// When the node will have been silent for too long. What its agent had sent over a stream from
// before an absence of the coordinator may be the last of that stream: then the agent has time to
// come back.
absl::Time SilentFrom(const ClusterState& state, const NodeEntry& node);

// The same for a node that has not reported to this coordinator.
absl::Time SilentFrom(const ClusterState& state);

// Why the node is to get no new work; empty: it is.
std::string WhyRefuses(const NodeEntry& node, absl::Time now);

// It has a stream and speaks.
bool IsConnected(const ClusterState& state, const NodeEntry& node, absl::Time now);

}  // namespace accel::coordinator
