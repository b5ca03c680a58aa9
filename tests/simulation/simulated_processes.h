// What really runs on one simulated host: shims and workers, whoever speaks for them.
//
// An agent dies, a network breaks, a coordinator errs: the processes here go on as real ones would.
// So a test that looks at them sees what is true, not what the coordinator or an agent believes.
// Workers take a while to start, end by themselves, obey TERM late or never, and fail; a seed
// decides which.
#pragma once

#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/ids.h"
#include "shim/core/generation_life.h"
#include "shim/host/shim_host.h"

namespace accel::simulation {

// How the workers of one schedule behave.
struct WorkerHabits {
  absl::Duration longest_start = absl::Milliseconds(300);
  absl::Duration longest_life = absl::Seconds(15);
  double goes_on = 0.1;                            // Lives for a minute longer.
  absl::Duration longest_term = absl::Seconds(8);  // From TERM to the end; some never obey.
  double fails = 0.2;  // Exits with a code other than 0, or by a signal.
  double cannot_start = 0.03;
};

struct SimulatedWorker {
  int rank = 0;
  int local_rank = 0;
  std::vector<int> gpus;
  absl::Time ends_at;  // By itself.
  shim::ExitFact by_itself;
  absl::Time obeys_at = absl::InfiniteFuture();  // A TERM.
  std::optional<shim::ExitFact> exit;
};

struct SimulatedGeneration {
  common::GenerationId id;
  shim::GenerationLife life;
  absl::Time exec_at;
  std::optional<shim::ExitFact> failure;  // The start fails with this at exec_at.
  std::vector<SimulatedWorker> workers;
  absl::Duration orphan_grace;

  bool alive() const { return life.state() != shim::GenerationReport::State::kEnded; }
};

// The process of one shim. It holds at most one living generation.
struct SimulatedShim {
  std::optional<SimulatedGeneration> generation;
  bool changed = false;
  absl::Time leaves_at = absl::InfiniteFuture();  // It was told to end, and takes a moment.
};

// Not thread-safe.
class SimulatedProcesses {
 public:
  SimulatedProcesses(uint32_t seed, const WorkerHabits* habits) : random_(seed), habits_(habits) {}

  // Lets everything happen that is due.
  void Run(absl::Time now);

  // The agent is gone: each shim ends its job with the grace that the job has for this, and leaves.
  void AgentGone(absl::Time now);

  bool empty() const { return shims_.empty(); }
  std::map<common::JobId, SimulatedShim>& shims() { return shims_; }
  const std::map<common::JobId, SimulatedShim>& shims() const { return shims_; }

  // Jobs whose shim has left since the last call.
  std::vector<std::pair<common::JobId, shim::GenerationReport>> TakeLeft();

  void Start(const shim::GenerationStart& start, absl::Time now);
  void Stop(SimulatedGeneration* generation, absl::Time now, absl::Duration grace);

  // A rank's true end, whoever has heard of it. Null: it has not ended, or never was here.
  const shim::ExitFact* EndOf(const common::GenerationId& id, int rank) const;

 private:
  double Chance() { return std::uniform_real_distribution<double>(0, 1)(random_); }
  absl::Duration UpTo(absl::Duration longest) { return longest * Chance(); }
  shim::ExitFact Failure();
  void RunGeneration(SimulatedShim* shim, absl::Time now);
  void End(const common::GenerationId& id, SimulatedWorker* worker, const shim::ExitFact& how);

  std::mt19937 random_;
  const WorkerHabits* const habits_;
  std::map<common::JobId, SimulatedShim> shims_;
  std::vector<std::pair<common::JobId, shim::GenerationReport>> left_;
  std::map<common::GenerationId, std::map<int, shim::ExitFact>> ends_;
};

// What the generation's shim reports of it.
shim::GenerationReport ReportOf(const SimulatedGeneration& generation);

}  // namespace accel::simulation
