// A scenario: a text file of steps, played on the coordinator's pure core with fake nodes and a
// simulated clock. A scenario reads as a story of what happens to a job, and runs in a millisecond.
//
// clang-format off
// The steps:
//
//   node NAME [gpus=N] [sockets=N] [address=A] [cpus=N] [clock=D]
//     A node connects. The defaults: no GPU, 2 spare store sockets, 8 CPUs, a clock that shows the
//     same time as the coordinator's (D is how far it is ahead).
//   submit [nodes=N] [ppn=K,L] [cpu] [gpu_ids=I,J] [max_restarts=N] [time_limit=D]
//          [start_deadline=D] [min_nodes=N] [restart_window=D] [no_retry_on=N,M]
//          [stop_on_disconnect=D] [ends_with_agent]
//     Jobs are called j1, j2... in the order of their submits.
//   cancel JOB [at_once]
//   sync NODE...
//     The nodes, or all nodes if NODE is "all", act on their desired states and report.
//   work NODE...
//     The nodes act on their desired states without a failure: a generation that must stop ends,
//     one that is starting runs, and one that runs ends with code 0.
//   run NODE JOB.GENERATION
//     Every rank there has done its exec.
//   exit NODE JOB.GENERATION RANK CODE|SIGn|OOM|HUNG [ago=D]
//     One rank exits with a code, or ends by a signal or by the kernel's out-of-memory killer, or is
//     found to hang. With `ago`, it did so a while ago, and the report of it is late.
//   checkpoint NODE JOB.GENERATION
//     The ranks there have committed another checkpoint.
//   fail NODE JOB.GENERATION TEXT
//     The node cannot start its part because it lacks the job's program.
//   cannot_start NODE JOB.GENERATION TEXT
//     The node cannot start its part for a reason of its own.
//   end NODE JOB.GENERATION
//     No process of the part is left. Ranks that still ran were ended by SIGTERM.
//   vanish NODE [no]
//     From now on, spare sockets of the node no longer exist when a plan uses them ("no": they do).
//   disconnect NODE, reconnect NODE, mute NODE, unmute NODE, refuse NODE TEXT
//   drain NODE [now], undrain NODE
//     An operator drains the node, or ends that.
//   goodbye NODE TEXT
//     The node's agent leaves, because TEXT.
//   agent_stops NODE TEXT
//     The agent stops and the node stays, because TEXT.
//   restart NODE [forgets]
//     The node's agent is killed. The next one adopts the generations, or has lost their records.
//   reboot NODE
//     The node's host restarts.
//   stale NODE JOB.GENERATION
//     The node reports a running generation that it was not asked for.
//   advance DURATION
//     Time passes in steps of a second. Each node that is not muted sends a heartbeat in each step.
//   away DURATION
//     The coordinator is stopped for this long. It resumes before any report has arrived.
//   expect JOB PHASE [~ TEXT]
//     The job is in this phase, and its reason contains TEXT.
//   expect JOB exit=N, failures=N, replans=N, start_failures=N, membership_changes=N,
//          generation=N, reason=TEXT (all of it) or cause~TEXT
//   desired NODE = TEXT
//     The node's whole desired state, in the short form of Summary().
//   env NODE JOB.GENERATION RANK NAME=VALUE
//     The worker has this variable. "NAME!" says that it does not have the variable.
//   refuses NODE = TEXT
//     Why the node gets no new work. "nothing" says that it gets work.
//   stale_counts sessions=N generations=N
//   all_over
//     Every job is in a final phase.
// clang-format on
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "coordinator/core/cluster_state.h"
#include "coordinator/report_reader.h"
#include "coordinator/store/memory_store.h"
#include "tests/scenarios/fake_node.h"

namespace accel::scenarios {

// Returns the line that would have held if `played`, a result of Scenario::Play(), reports an unmet
// expectation. Returns nullopt for other errors, and for `all_over` and causes, because only a
// person can say what to expect there.
std::optional<std::string> LineThatHolds(const absl::Status& played);

class Scenario {
 public:
  Scenario();

  // Kills the coordinator right after its nth commit, before anyone is told of it. The next one
  // recovers from what is stored, and all nodes connect again. Must be called before the first
  // line.
  void CrashAfterCommit(int nth) { crash_after_ = nth; }
  int commits() const { return commits_; }

  // Plays one line. FAILED_PRECONDITION: an expectation does not hold; the message says what
  // holds instead. INVALID_ARGUMENT: the line is invalid, or refers to a rank or node that
  // does not exist.
  absl::Status Play(absl::string_view line);

  // Checks what must hold after every step of every scenario: ranks are dense and unique, no GPU
  // and no spare socket has two holders, a final phase never changes, and a success has no cause.
  absl::Status CheckInvariants();

  // Checks that Recover() makes of the stored rows what the coordinator itself knows, as far as it
  // is stored (invariant 1).
  absl::Status CheckRecovery();

 private:
  using Words = std::vector<std::string>;
  using Step = absl::Status (Scenario::*)(const Words& words);

  absl::Status AddNode(const Words& words);
  absl::Status Submit(const Words& words);
  absl::Status Cancel(const Words& words);
  absl::Status Sync(const Words& words);
  absl::Status Work(const Words& words);
  absl::Status Run(const Words& words);
  absl::Status Exit(const Words& words);
  absl::Status Checkpoint(const Words& words);
  absl::Status Fail(const Words& words);
  absl::Status End(const Words& words);
  absl::Status Vanish(const Words& words);
  absl::Status Link(const Words& words);
  absl::Status Drain(const Words& words);
  absl::Status Stale(const Words& words);
  absl::Status Advance(const Words& words);
  absl::Status Away(const Words& words);
  absl::Status Expect(const Words& words);
  absl::Status ExpectDesired(const Words& words);
  absl::Status ExpectEnv(const Words& words);
  absl::Status ExpectRefusal(const Words& words);
  absl::Status ExpectStaleCounts(const Words& words);
  absl::Status ExpectAllOver(const Words& words);

  // Returns the nodes that the words after the first one name, or all nodes if the second is "all".
  std::vector<FakeNode*> Nodes(const Words& words);
  FakeNode& Node(const std::string& name);
  v1::ObservedGeneration& Part(const std::string& node, const std::string& generation);
  std::string RealId(const std::string& job) const;  // "j1"
  std::string Alias(const std::string& job_id) const;
  absl::Status Report(FakeNode* node);
  v1::NodeDesired Send(FakeNode* node);
  v1::NodeDesired DesiredOf(const common::NodeId& node) const;
  // Plans and commits.
  absl::Status Plan();
  // Notes what the touched nodes must do. FAILED_PRECONDITION: another node must do something else
  // than before.
  absl::Status Publish();
  absl::Status Crash();
  // Starts a coordinator with these rows.
  absl::Status Begin(const std::vector<coordinator::Row>& rows);
  std::string Summary(const v1::NodeDesired& desired) const;

  absl::Time now_ = absl::UnixEpoch() + absl::Hours(1);
  coordinator::ClusterState state_;
  coordinator::Changes changes_;
  coordinator::MemoryStore store_;
  int commits_ = 0;
  std::optional<int> crash_after_;
  std::map<std::string, std::unique_ptr<FakeNode>> nodes_;
  std::map<std::string, coordinator::SessionId> sessions_;  // 0 if the node must connect again.
  std::map<coordinator::SessionId, coordinator::ReportReader> readers_;  // Of open sessions.
  std::map<common::NodeId, std::string> asked_;  // DesiredSignature() when a node was touched last.
  coordinator::SessionId next_session_ = 1;
  std::vector<common::JobId> jobs_;
  std::map<common::JobId, v1::JobPhase> final_phases_;
};

}  // namespace accel::scenarios
