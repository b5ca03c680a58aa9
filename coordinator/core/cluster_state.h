// The whole state of the coordinator, as plain data. Jobs and nodes are
// protobuf messages (docs/decisions/0001).
//
// Events from outside are written into it by requests.h, observe.h, presence.h and the files of
// access/. perform.h carries out the actions of the planner. planner.cc also updates the ledger and
// stores the counts of parts, sessions.cc the newest revision, and recover.h builds the state from
// stored rows. Not thread-safe: CoordinatorLoop owns the state and is its only user.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/node_hash_map.h"
#include "absl/time/time.h"
#include "common/ids.h"
#include "coordinator/core/access/access_state.h"
#include "coordinator/core/agenda.h"
#include "coordinator/core/ended_jobs.h"
#include "coordinator/core/failure_history.h"
#include "coordinator/core/job_id.h"
#include "coordinator/core/ledger.h"
#include "coordinator/core/node_clock.h"
#include "coordinator/core/node_health.h"
#include "coordinator/core/part_counts.h"
#include "coordinator/core/unfinished_jobs.h"
#include "coordinator/core/waiting_jobs.h"
#include "proto/job.pb.h"
#include "proto/node.pb.h"

namespace accel::coordinator {

// The number of one agent's stream. Newer streams have higher numbers. 0 means no stream.
using SessionId = uint64_t;

struct Limits {
  // A node that has been silent for this long counts as lost.
  absl::Duration node_timeout = absl::Seconds(3);  // With up to 1,000 nodes: see NodeTimeout().
  // The longest time that an agent may need to reconnect after its connection broke. An agent whose
  // certificate was refused may need longer.
  absl::Duration longest_reconnect = absl::Seconds(15);
  absl::Duration longest_heartbeat = absl::Seconds(2);  // See Heartbeat().
  // Defaults of fields of JobSpec: the next three. A generation fails if its ranks have not all
  // started within start_deadline.
  absl::Duration start_deadline = absl::Seconds(60);
  absl::Duration cancel_grace = absl::Seconds(30);  // StopGrace() in grace.h.
  absl::Duration failure_grace = absl::Seconds(5);
  int max_unfinished_jobs = 10'000;  // For the share of one user, see requests.h.
  int max_finished_jobs = 1'000;     // The newest are kept.
  // Maximum memory of all jobs with their generations. A submit that would exceed it is rejected.
  // Finished jobs are dropped, oldest first, while all jobs together take more than half of it.
  int64_t max_job_bytes = int64_t{512} << 20;
  int64_t max_report_bytes = int64_t{1} << 30;   // Maximum memory of all nodes' newest reports.
  int64_t max_ended_bytes = int64_t{256} << 20;  // Maximum memory of ClusterState::ended.
  int max_nodes = 10'000;
  int generations_per_node = 64;  // Maximum number of concurrent generations on a node.
  int max_replans = 100;          // Maximum number of replans of one job.
  // Maximum number of starts of one job in a row that may fail because of a node. Each further
  // failed start spends a restart, because the fault may be the job's own (docs/decisions/0024).
  int max_start_failures = 10;
  // Maximum number of membership changes of one job within the window: see failure_policy.h.
  int max_membership_changes = 20;
  absl::Duration membership_window = absl::Hours(1);
  int max_alike_failures = 10;  // In a row, soon after the start: see failure_policy.h.
  // See growth.h.
  absl::Duration grow_after = absl::Seconds(30);
  absl::Duration fresh_checkpoint = absl::Seconds(2);
  absl::Duration longest_wait_for_checkpoint = absl::Minutes(10);
  // See restart_pause.h.
  absl::Duration first_restart_pause = absl::Seconds(1);
  absl::Duration longest_restart_pause = absl::Minutes(1);
  double restart_jitter = 0.25;  // At most this fraction of a pause is added to it.
  absl::Duration steady_after = absl::Seconds(10);
  // Records kept of one job, at least 1. The first and the newest are kept. If there is no memory
  // for more than one or two, only the newest are.
  int generation_records = 32;
  // If above 0, the cluster has exactly this many nodes: `accel launch` sets it. Once all of them
  // are connected, a job that can never fit fails immediately instead of waiting for more nodes.
  int fixed_nodes = 0;
};

struct NodeEntry {
  v1::NodeObserved observed;   // The newest report of the newest incarnation.
  int64_t observed_bytes = 0;  // Memory that `observed` takes.
  bool has_gpus = false;       // Known even before the node has reported to this coordinator.
  SessionId session = 0;
  v1::Drain drain = v1::NOT_DRAINED;
  // True if an operator has given up the node, which was not connected or must not come back. False
  // again once it reports.
  bool given_up = false;
  absl::Time joined;      // Time of the first report over the present stream.
  absl::Time last_heard;  // Time of the newest report. InfinitePast if this coordinator has none.
  NodeClock clock;        // Reset with each new stream.
  NodeHealth health;
  std::map<common::JobId, int> jobs;  // The machine rank here of each current generation.
  // The spare store sockets that a plan has used, by socket id. The value is true while the
  // generation holds the socket. Then the agent is asked to close it. No other generation gets the
  // socket, even if this node never started its part. Ranks on other nodes may have connected to
  // it, and their bytes wait in it (docs/decisions/0041).
  std::map<uint64_t, bool> consumed_sockets;
  // The first revision that no longer asks this node for a generation that was given up here. An
  // older desired state, which still asks for that generation, may be on its way. The node
  // therefore gets no new work until it has acted on this revision or a later one. 0 if there is
  // no such generation.
  uint64_t settled_from = 0;
};

// The budget that a stopped generation is counted against. The numbers are stored, so a new value
// is added at the end and raises the bound in recover.cc.
enum class Spends {
  kNothing,
  kRestart,     // max_restarts of the job.
  kReplan,      // Limits::max_replans.
  kStart,       // Limits::max_start_failures.
  kMembership,  // Limits::max_membership_changes.
};

struct JobEntry {
  v1::Job job;
  std::string shape;  // ShapeOf() the spec, which never changes.
  // True if a client has asked for a cancel that the planner has not acted on yet.
  bool cancel = false;
  bool cancel_at_once = false;                   // True if that cancel gives no grace.
  absl::Duration stop_grace;                     // While STOPPING: time from SIGTERM to SIGKILL.
  absl::Time start_by = absl::InfiniteFuture();  // While STARTING: the start deadline.
  absl::Time end_by = absl::InfiniteFuture();    // When the job's time limit runs out.
  absl::Time started;                            // When its current generation was placed.
  FailureHistory history;
  // The failure, while STOPPING because of one: its time, and the budget that it spends at the end
  // of the stop. `cancelled_since` says that a cancel has arrived since the failure. Another cause
  // then no longer changes the outcome.
  TimeRange failed;
  Spends spends = Spends::kNothing;
  bool cancelled_since = false;
  // True if a generation of the job has reported a checkpoint. The time is that of the newest
  // checkpoint of the current generation.
  bool reports_checkpoints = false;
  absl::Time checkpoint_at = absl::InfinitePast();
  absl::Time not_before = absl::InfinitePast();  // While RESTARTING: the end of the pause.
  // The nodes that could not start the newest generations. The planner prefers other nodes. Cleared
  // once a generation has started.
  std::set<common::NodeId> avoid;
  // True if the node of a job of one node has reported that its shim stops the current generation,
  // while it was to restart.
  bool stop_seen = false;
  // The first revision whose desired states ask the nodes to start the current generation, and the
  // first that ask them to stop it.
  uint64_t start_revision = 0;
  uint64_t stop_revision = 0;
  // Counts of the parts, while the job holds nodes. The start of a generation sets them, and they
  // remain true when the job becomes RUNNING, or gets another reason. Any other step clears them,
  // and the next look counts again.
  PartCounts counts;
  // Before this time, the reason of a STARTING or STOPPING job does not change only because the job
  // waits for other nodes (kExplainAfter in counting.h).
  absl::Time explain_at = absl::InfinitePast();
  // The memory that the job takes, which is included in ClusterState::job_bytes. `newest_bytes` is
  // the share of the newest generation and the cause, which may still grow.
  int64_t bytes = 0;
  int64_t newest_bytes = 0;
};

// Counts of reports that were ignored because they are out of date (invariant 5).
struct StaleCounts {
  // Reports whose sequence number did not rise, or whose session was over or replaced by a newer
  // one.
  int64_t sessions = 0;
  // Reported parts that still have processes of a generation that is over.
  int64_t generations = 0;
  // Reported parts of generations that have no part on the reporting node.
  int64_t foreign = 0;
  bool operator==(const StaleCounts&) const = default;
};

// The facts about the whole cluster that are stored.
struct ClusterFacts {
  std::string cluster_id;  // Made once, when the cluster begins.
  int64_t epoch = 0;       // The number of coordinators that the cluster has had. At least 1.
  // The present coordinator's clock: see recover.h.
  std::string boot_id;
  absl::Duration wall_minus_monotonic;
};

struct ClusterState {
  Limits limits;
  // The user who runs this coordinator. The jobs of this user may take all the room for jobs,
  // because the user could end the jobs of all others anyway.
  std::string owner;
  ClusterFacts facts;
  int connected = 0;  // The number of nodes that have a session.
  // The largest number of nodes that were ever connected to this coordinator, in thousands, rounded
  // up. At least 1.
  int thousands = 1;
  // The time since which the coordinator has listened to its nodes without a gap: see presence.h.
  absl::Time present_since;
  absl::Time listened_at;  // When the coordinator listened last.
  // The number of the newest desired state. It rises with each change of what nodes must do. It
  // starts above every revision that an earlier coordinator of this cluster can have sent.
  uint64_t revision = 0;
  JobIdIssuer ids;
  // A hash map, because a start looks for each of its nodes nine times, and a tree of thousands of
  // nodes takes twice as long. Entries do not move, because offers and parts point to them.
  absl::node_hash_map<common::NodeId, NodeEntry> nodes;
  // True if a node with a GPU has been connected to this coordinator, or is among the stored nodes.
  // That node need not be connected now (docs/decisions/0023).
  bool gpus_seen = false;
  absl::flat_hash_map<std::string, common::NodeId> node_names;  // The last node with each name.
  std::map<common::JobId, JobEntry> jobs;                       // Oldest first: ids sort by age.
  UnfinishedJobs unfinished;
  std::deque<common::JobId> finished;                       // Oldest first.
  absl::flat_hash_map<std::string, common::JobId> submits;  // By submit id.
  EndedJobs ended;  // The ends of jobs that were dropped from `jobs`.
  int64_t job_bytes = 0;
  int64_t report_bytes = 0;
  StaleCounts stale;
  AccessState access;
  Agenda agenda;        // What the planner must look at next.
  WaitingJobs waiting;  // See sort_waiting.h.
  Ledger ledger;        // What the nodes have for the waiting jobs.
};

// The changes of a job, apart from its state, which is always stored.
struct JobChange {
  bool created = false;  // The job and its spec are new.
  // Records that were added, changed or dropped. Only these are stored and published again.
  std::set<common::Generation> generations;
};

// The changes of the state that are not yet stored and published.
struct Changes {
  bool cluster = false;                    // ClusterState::facts must be stored.
  std::map<common::JobId, JobChange> put;  // Jobs to store.
  std::set<common::JobId> erase;           // Jobs to remove from the store.
  std::set<common::JobId> ends;            // Jobs that were added to or dropped from `ended`.
  std::set<common::NodeId> registered;     // Nodes that registered, changed, or were removed.
  AccessChanges access;                    // Members, credentials and keys.
  std::set<common::NodeId> nodes;          // Nodes whose desired state may have changed.

  bool durable() const {
    return cluster || !put.empty() || !erase.empty() || !ends.empty() || !registered.empty() ||
           !access.empty();
  }
  // Adds changes that were made before these.
  void AddOlder(Changes older);
};

// Returns the time of silence after which a node counts as lost (NodeTimeout()), and the longest
// time between two reports of a node (Heartbeat()). Both grow with the number of nodes above 1,000,
// so that the work for reports stays the same. Neither shrinks while the coordinator lives, because
// a shorter limit would hold before the nodes learn of a shorter heartbeat. The limit is at least
// 2.5 heartbeats, so that one report may be late.
absl::Duration NodeTimeout(const ClusterState& state);
absl::Duration Heartbeat(const ClusterState& state);

// Raises ClusterState::thousands for this many nodes. If it is already large enough, returns false.
// Otherwise puts everything on the agenda and returns true.
bool GrowForNodes(size_t nodes, ClusterState* state);

// Makes the next plan look at everything: at all unfinished jobs, at the queue, and at what each
// node offers to jobs.
void TouchAll(ClusterState* state);

// Returns null if there is no such job.
JobEntry* FindJob(ClusterState* state, const common::JobId& id);
const JobEntry* FindJob(const ClusterState& state, const common::JobId& id);

// Returns the record of the job's newest generation, or null before the first one.
const v1::GenerationRecord* CurrentGeneration(const v1::Job& job);

// Returns true if this generation may have processes: it is the newest of its job, and the job's
// phase holds nodes.
bool IsLive(const ClusterState& state, const common::JobId& job, common::Generation generation);

// Returns what the node reports of this generation, or null if it does not report it.
const v1::ObservedGeneration* FindObserved(const NodeEntry& node, const common::JobId& job,
                                           common::Generation generation);

// Returns the time from which the node counts as silent if it sends nothing more. Its stream may
// have broken during an absence of the coordinator. If the stream is older than the last absence,
// the agent therefore also gets longest_reconnect to come back.
absl::Time SilentFrom(const ClusterState& state, const NodeEntry& node);

// Returns the same time for a node that has not yet reported to this coordinator.
absl::Time SilentFrom(const ClusterState& state);

// Returns true if the node has reported to this coordinator, not only to an earlier one.
bool HasReported(const NodeEntry& node);

// Returns why the node gets no new work, or an empty string if it may get some.
std::string WhyRefuses(const NodeEntry& node, absl::Time now);

// Returns true if the node has a stream and has not been silent for too long. Decides whether the
// node is offered new work, and how `accel nodes` shows it. A part of a job is declared lost by
// LookAtPart() (part.h), not here.
bool IsConnected(const ClusterState& state, const NodeEntry& node, absl::Time now);

}  // namespace accel::coordinator
