// The shims and workers that run on one simulated host.
//
// They are separate from the agent and the coordinator. If an agent dies, the network breaks or the
// coordinator makes a mistake, these processes continue as real ones would. A test that looks at
// them therefore sees what is true, not what an agent reports or the coordinator assumes.
//
// Workers take time to start, end by themselves, obey SIGTERM late or never, and fail. A seed
// decides which, together with the host, the job's second argument and the generation. A job
// therefore behaves the same if other events of a schedule are removed.
#pragma once

#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/ids.h"
#include "common/unique_fd.h"
#include "shim/core/generation_life.h"
#include "shim/core/progress.h"
#include "shim/host/shim_host.h"
#include "tests/simulation/node_disk.h"

namespace accel::simulation {

// The probabilities and times with which the workers of one schedule act.
struct WorkerHabits {
  absl::Duration longest_start = absl::Milliseconds(300);
  absl::Duration longest_life = absl::Seconds(15);
  double goes_on = 0.1;                            // Probability to run for a minute longer.
  absl::Duration longest_term = absl::Seconds(8);  // From SIGTERM to the end. Some never obey.
  double fails = 0.2;  // Probability to exit with a code other than 0, or by a signal.
  double cannot_start = 0.03;
  double saves = 0.8;  // Probability that an elastic job reports checkpoints.
  absl::Duration longest_between_saves = absl::Seconds(20);
  double hangs = 0.15;  // Probability that a worker of a job with a hang timeout hangs.
};

struct SimulatedWorker {
  int rank = 0;
  int local_rank = 0;
  std::vector<int> gpus;
  absl::Time ends_at;                            // When the worker ends by itself.
  shim::ExitFact by_itself;                      // How it then ends.
  absl::Time obeys_at = absl::InfiniteFuture();  // When it obeys a SIGTERM that it has received.
  absl::Time hangs_at = absl::InfiniteFuture();  // From then on it makes no progress.
  std::optional<shim::ExitFact> hung;            // As the shim has found it.
  std::optional<shim::ExitFact> exit;
  absl::Time ended_at;  // By the clock of the host. If it is hung, its last sign of progress.
};

struct SimulatedGeneration {
  common::GenerationId id;
  shim::GenerationLife life;
  absl::Time exec_at;
  std::optional<shim::ExitFact> failure;  // If set, the start fails with this at exec_at.
  std::vector<SimulatedWorker> workers;
  absl::Duration orphan_grace;
  bool keep_without_agent = false;
  absl::Duration longest_silence;  // The generation is stopped after this long without contact.
  // How often its rank 0 reports a checkpoint, if that runs here, and when it does so next.
  absl::Duration saves_every = absl::InfiniteDuration();
  absl::Time saves_at = absl::InfiniteFuture();
  int64_t checkpoints = 0;
  std::optional<shim::Progress> progress;  // If its hangs are to be found.
  std::mt19937 random;
  absl::Time stopped_at = absl::InfiniteFuture();  // When a stop was first asked for.

  bool alive() const { return life.state() != shim::GenerationReport::State::kEnded; }
};

// The process of one shim. It holds at most one living generation.
struct SimulatedShim {
  std::optional<SimulatedGeneration> generation;
  bool changed = false;
  bool asked_to_exit = false;  // By the agent, so no agent needs its result any more.
  absl::Time leaves_at = absl::InfiniteFuture();  // When a shim that was asked to stop exits.
};

// A shim that has exited, and what it reported last.
struct LeftShim {
  common::JobId job;
  std::optional<shim::GenerationReport> report;
  bool asked_to_exit = false;
};

// How a worker really ended, even if no agent has reported it.
struct WorkerEnd {
  shim::ExitFact how;
  absl::Time at;           // The true time.
  bool by_itself = false;  // It was not ended by a signal of its shim or of a fault.
};

// A worker that was ended by SIGKILL, and the time that it had since the stop was asked for.
struct SimulatedKill {
  common::GenerationId id;
  int rank = 0;
  absl::Duration grace;
};

// The processes of one host. Not thread-safe.
class SimulatedProcesses {
 public:
  // `host` is the name of the host, and `clock` is its monotonic clock, which the ends of workers
  // are reported by. The pointers must outlive this object.
  SimulatedProcesses(uint32_t seed, absl::string_view host, const WorkerHabits* habits,
                     NodeDisk* disk, common::Clock* clock)
      : seed_(seed), host_(host), habits_(habits), disk_(disk), clock_(clock) {}

  // Carries out all events that are due at `now`.
  void Run(absl::Time now);

  // Notes that the agent is gone. Shims whose jobs do not outlive their agent end them with the
  // job's grace for this case, and then exit.
  void AgentGone(absl::Time now);
  // Notes that the agent has contact with the coordinator. Generations that require contact are
  // stopped once it is too long ago (invariant 4).
  void Contact(absl::Time now);
  // Kills a shim whose agent lives. The agent then ends the job's processes.
  void KillShim(const common::JobId& job, absl::Time now);
  // Kills everything, as a reboot does. No shim reports anything.
  void Reboot(absl::Time now);

  bool empty() const { return shims_.empty(); }
  std::map<common::JobId, SimulatedShim>& shims() { return shims_; }
  const std::map<common::JobId, SimulatedShim>& shims() const { return shims_; }

  // Returns the shims that have exited since the last call. One that was not asked to exit has
  // written its result to the disk, as far as the disk took it.
  std::vector<LeftShim> TakeLeft();

  // Starts a generation. The store's socket, if any, is kept open, so that no later socket has the
  // same port.
  void Start(const shim::StartCommand& start, common::UniqueFd store_socket, absl::Time now);
  void Stop(SimulatedGeneration* generation, absl::Time now, absl::Duration grace);

  // Returns when the generation has committed checkpoints here.
  const std::vector<absl::Time>& CheckpointsOf(const common::GenerationId& id) const;
  // Returns true if the rank hangs here, or has hung until it was killed.
  bool HasHung(const common::GenerationId& id, int rank) const;

  // Returns a generation whose start a shim of this host has received twice, if there is one.
  const std::optional<common::GenerationId>& started_twice() const { return started_twice_; }

  // Returns the workers that were killed since the last call.
  std::vector<SimulatedKill> TakeKills();

  // Returns how the ranks of a generation ended, by rank. A rank that has not ended, or never ran
  // here, is missing.
  const std::map<int, WorkerEnd>& EndsOf(const common::GenerationId& id) const;

 private:
  void MakeWorker(const shim::WorkerStart& start, SimulatedGeneration* generation,
                  absl::Duration hang_timeout) const;
  void RunGeneration(SimulatedShim* shim, absl::Time now);
  bool RunWorker(SimulatedGeneration* generation, SimulatedWorker* worker, absl::Time now);
  void Save(SimulatedGeneration* generation, absl::Time now);
  void FindHang(SimulatedGeneration* generation);
  void Abandon(SimulatedGeneration* generation, absl::Time now);
  void End(const common::GenerationId& id, SimulatedWorker* worker, const WorkerEnd& end);

  const uint32_t seed_;
  const std::string host_;
  const WorkerHabits* const habits_;
  NodeDisk* const disk_;
  common::Clock* const clock_;
  std::map<common::JobId, SimulatedShim> shims_;
  std::vector<LeftShim> left_;
  std::vector<SimulatedKill> kills_;
  std::map<common::GenerationId, std::map<int, WorkerEnd>> ends_;
  std::map<common::GenerationId, std::vector<absl::Time>> checkpoints_;
  std::set<std::pair<common::GenerationId, int>> hung_;
  std::set<common::GenerationId> started_;
  std::optional<common::GenerationId> started_twice_;
  std::vector<common::UniqueFd> used_sockets_;
};

// Returns what the generation's shim reports.
shim::GenerationReport ReportOf(const SimulatedGeneration& generation);

}  // namespace accel::simulation
