// A scenario: a text file of steps, played on the coordinator's pure core with fake nodes and a
// clock of its own. The steps:
//
//   node NAME [gpus=N] [sockets=N] [address=A] [cpus=N]
//     A node connects. It keeps so many spare store sockets (2), and has so many CPUs (8).
//   submit [nodes=N] [ppn=K,L] [cpu] [gpu_ids=I,J] [max_restarts=N] [time_limit=D]
//          [start_deadline=D]
//     Jobs are called j1, j2... in the order of their submits.
//   cancel JOB [at_once]
//   sync NODE...
//     The nodes ("all": every one) act on their desired states and report.
//   work NODE...
//     The nodes act on their desired states, and all goes well there: what was told to stop ends,
//     what starts runs, what runs ends with code 0.
//   run NODE JOB.GENERATION
//     Every rank there has done its exec.
//   exit NODE JOB.GENERATION RANK CODE|SIGn|OOM
//     One rank ends; OOM: by the kernel's out-of-memory killer.
//   fail NODE JOB.GENERATION TEXT
//     The node's part could not be started: the node lacks the job's program.
//   cannot_start NODE JOB.GENERATION TEXT
//     The same, for a reason of the node's.
//   end NODE JOB.GENERATION
//     No process is left; ranks that still ran died by SIGTERM.
//   vanish NODE [no]
//     Its spare sockets turn out to be gone from now on.
//   restart NODE, disconnect NODE, reconnect NODE, mute NODE, unmute NODE, refuse NODE TEXT
//   stale NODE JOB.GENERATION
//     The node reports a running generation that it was not asked for.
//   advance DURATION
//     In steps of a second, with a heartbeat of each node that is not muted.
//   away DURATION
//     The coordinator stands still, and looks for news again before anything has come in.
//   expect JOB PHASE [~ TEXT]
//     Its phase, and a part of its reason.
//   expect JOB exit=N, failures=N, replans=N, start_failures=N, generation=N or cause~TEXT
//   desired NODE = TEXT
//     The whole desired state in short: see Summary().
//   env NODE JOB.GENERATION RANK NAME=VALUE
//     The worker's environment; "NAME!" for a variable that is absent.
//   refuses NODE = TEXT
//     Why it gets no new work; "nothing": it does.
//   stale_counts sessions=N generations=N
//   all_over
//     Every job is in a final phase.
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
#include "tests/scenarios/fake_node.h"

namespace accel::scenarios {

// Returns the line that would have held if `played`, a result of Scenario::Play(), reports an unmet
// expectation. Returns nullopt for other errors, and for `all_over` and causes, because only a
// person can say what to expect there.
std::optional<std::string> LineThatHolds(const absl::Status& played);

class Scenario {
 public:
  Scenario();

  // Plays one line. FAILED_PRECONDITION: an expectation does not hold, with what holds instead.
  // INVALID_ARGUMENT: the line makes no sense.
  absl::Status Play(absl::string_view line);

  // Checked after every step, whatever the scenario: ranks are dense and unique, no GPU and no
  // spare socket has two holders, final phases stay.
  absl::Status CheckInvariants();

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
  absl::Status Fail(const Words& words);
  absl::Status End(const Words& words);
  absl::Status Vanish(const Words& words);
  absl::Status Link(const Words& words);
  absl::Status Stale(const Words& words);
  absl::Status Advance(const Words& words);
  absl::Status Away(const Words& words);
  absl::Status Expect(const Words& words);
  absl::Status ExpectDesired(const Words& words);
  absl::Status ExpectEnv(const Words& words);
  absl::Status ExpectRefusal(const Words& words);
  absl::Status ExpectStaleCounts(const Words& words);
  absl::Status ExpectAllOver(const Words& words);

  // The nodes that are named from the second word on; "all": every one.
  std::vector<FakeNode*> Nodes(const Words& words);
  FakeNode& Node(const std::string& name);
  v1::ObservedGeneration& Part(const std::string& node, const std::string& generation);
  std::string RealId(const std::string& job) const;  // "j1"
  std::string Alias(const std::string& job_id) const;
  absl::Status Report(FakeNode* node);
  void Plan();
  std::string Summary(const v1::NodeDesired& desired) const;

  absl::Time now_ = absl::UnixEpoch() + absl::Hours(1);
  coordinator::ClusterState state_;
  coordinator::Changes changes_;
  std::map<std::string, std::unique_ptr<FakeNode>> nodes_;
  std::map<std::string, coordinator::SessionId> sessions_;
  coordinator::SessionId next_session_ = 1;
  std::vector<common::JobId> jobs_;
  std::map<common::JobId, v1::JobPhase> final_phases_;
};

}  // namespace accel::scenarios
