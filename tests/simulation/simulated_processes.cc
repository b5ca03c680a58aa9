#include "tests/simulation/simulated_processes.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "tests/simulation/simulated_shim_folder.h"

namespace accel::simulation {
namespace {

shim::ExitFact Signalled(int signal) {
  shim::ExitFact fact;
  fact.kind = shim::ExitFact::Kind::kSignalled;
  fact.signal = signal;
  return fact;
}

double Chance(std::mt19937& random) { return std::uniform_real_distribution<double>(0, 1)(random); }

absl::Duration UpTo(absl::Duration longest, std::mt19937& random) {
  return longest * Chance(random);
}

shim::ExitFact Failure(std::mt19937& random) {
  if (Chance(random) < 0.3) return Signalled(11);
  shim::ExitFact fact;
  fact.code = 3;
  return fact;
}

// Returns the source of randomness of a generation on a host.
std::mt19937 RandomOf(uint32_t seed, absl::string_view host, const shim::StartCommand& start) {
  const std::string name = absl::StrCat(host, "/", start.argv.size() < 2 ? "" : start.argv[1]);
  std::vector<uint32_t> parts(name.begin(), name.end());
  parts.push_back(seed);
  parts.push_back(static_cast<uint32_t>(start.id.generation));
  std::seed_seq sequence(parts.begin(), parts.end());
  return std::mt19937(sequence);
}

std::vector<int> GpusOf(const shim::WorkerStart& worker) {
  std::vector<int> gpus;
  for (absl::string_view variable : worker.env) {
    if (!absl::ConsumePrefix(&variable, "CUDA_VISIBLE_DEVICES=")) continue;
    for (const absl::string_view word : absl::StrSplit(variable, ',', absl::SkipEmpty())) {
      int gpu = 0;
      if (absl::SimpleAtoi(word, &gpu)) gpus.push_back(gpu);
    }
  }
  return gpus;
}

}  // namespace

shim::GenerationReport ReportOf(const SimulatedGeneration& generation) {
  shim::GenerationReport report;
  report.id = generation.id;
  report.state = generation.life.state();
  report.failure = generation.failure;
  report.orphan_grace = generation.orphan_grace;
  report.checkpoints = generation.checkpoints;
  for (const SimulatedWorker& worker : generation.workers) {
    shim::WorkerReport of_worker;
    of_worker.rank = worker.rank;
    of_worker.local_rank = worker.local_rank;
    of_worker.pid = 1000 + worker.rank;
    of_worker.exit = worker.hung.has_value() ? worker.hung : worker.exit;
    of_worker.ended_at = worker.ended_at;
    report.workers.push_back(std::move(of_worker));
  }
  return report;
}

void SimulatedProcesses::Start(const shim::StartCommand& start, common::UniqueFd store_socket,
                               absl::Time now) {
  if (store_socket.valid()) used_sockets_.push_back(std::move(store_socket));
  SimulatedShim& shim = shims_[start.id.job];
  SimulatedGeneration& generation = shim.generation.emplace();
  generation.id = start.id;
  generation.orphan_grace = start.orphan_grace;
  generation.keep_without_agent = start.keep_without_agent;
  generation.longest_silence = start.stop_on_disconnect_after;
  generation.life.RequireContact(now, start.stop_on_disconnect_after);
  generation.random = RandomOf(seed_, host_, start);
  std::mt19937& random = generation.random;
  generation.exec_at = now + UpTo(habits_->longest_start, random);
  if (Chance(random) < habits_->cannot_start) {
    generation.failure.emplace();
    generation.failure->kind = shim::ExitFact::Kind::kNotStarted;
    generation.failure->code = 127;
    generation.failure->message = "The program does not exist.";
  }
  const bool is_leaving = shim.leaves_at != absl::InfiniteFuture();
  if (!is_leaving && !started_.insert(start.id).second) started_twice_ = start.id;
  SimulatedShimFolder folder(disk_, start.id.job);
  const absl::Status noted =
      is_leaving ? absl::OkStatus() : folder.WriteStarted(start.id.generation);
  if (!noted.ok()) {
    generation.failure = shim::ExitFact{.kind = shim::ExitFact::Kind::kNotStarted, .code = 1};
    generation.failure->message = "Cannot note the start in the agent's state directory.";
  }
  for (const shim::WorkerStart& each : start.workers) {
    MakeWorker(each, &generation, start.hang_timeout);
  }
  if (start.hang_timeout > absl::ZeroDuration()) {
    std::vector<int> ranks;
    for (const shim::WorkerStart& each : start.workers) ranks.push_back(each.rank);
    generation.progress.emplace(start.hang_timeout, ranks, clock_->Now());
  }
  if (start.report_checkpoints && start.workers[0].rank == 0 && Chance(random) < habits_->saves) {
    generation.saves_every = UpTo(habits_->longest_between_saves, random);
    generation.saves_at = generation.exec_at + generation.saves_every;
  }
  shim.changed = true;
  if (!is_leaving) return;
  // The shim is already exiting and does not read the request, so the generation dies with it.
  shim::ExitFact died;
  died.kind = shim::ExitFact::Kind::kShimDied;
  generation.failure = died;
  for (SimulatedWorker& worker : generation.workers) worker.exit = died;
  generation.life.WorkersGone(now);
  generation.life.NothingLeft();
}

void SimulatedProcesses::MakeWorker(const shim::WorkerStart& start, SimulatedGeneration* generation,
                                    absl::Duration hang_timeout) const {
  std::mt19937& random = generation->random;
  SimulatedWorker worker;
  worker.rank = start.rank;
  worker.local_rank = start.local_rank;
  worker.gpus = GpusOf(start);
  const absl::Duration life = UpTo(habits_->longest_life, random);
  worker.ends_at = generation->exec_at + life;
  if (Chance(random) < habits_->goes_on) worker.ends_at += absl::Minutes(1);
  if (Chance(random) < habits_->fails) worker.by_itself = Failure(random);
  if (hang_timeout > absl::ZeroDuration() && Chance(random) < habits_->hangs) {
    // It has made some progress before.
    worker.hangs_at = generation->exec_at + absl::Seconds(1) + life / 2;
    worker.ends_at = absl::InfiniteFuture();
  }
  generation->workers.push_back(std::move(worker));
}

void SimulatedProcesses::Stop(SimulatedGeneration* generation, absl::Time now,
                              absl::Duration grace) {
  generation->stopped_at = std::min(generation->stopped_at, now);
  if (!generation->life.StopAsked(now, grace)) return;
  for (SimulatedWorker& worker : generation->workers) {
    const bool obeys = Chance(generation->random) < 0.8;
    if (!obeys || now >= worker.hangs_at) continue;
    worker.obeys_at = now + UpTo(habits_->longest_term, generation->random);
  }
}

void SimulatedProcesses::End(const common::GenerationId& id, SimulatedWorker* worker,
                             const WorkerEnd& end) {
  worker->exit = end.how;
  if (!worker->hung.has_value()) worker->ended_at = clock_->Now();
  ends_[id].emplace(worker->rank, end);
}

// Returns true if the worker runs after `now`.
bool SimulatedProcesses::RunWorker(SimulatedGeneration* generation, SimulatedWorker* worker,
                                   absl::Time now) {
  if (worker->exit.has_value()) return false;
  if (now >= generation->life.kill_at()) {
    End(generation->id, worker, {Signalled(9), now});
    kills_.push_back({generation->id, worker->rank, now - generation->stopped_at});
  } else if (now >= worker->ends_at) {
    End(generation->id, worker, {worker->by_itself, now, /*by_itself=*/true});
  } else if (now >= worker->obeys_at) {
    End(generation->id, worker, {Signalled(15), now});
  } else if (now >= worker->hangs_at) {
    hung_.emplace(generation->id, worker->rank);
  }
  return !worker->exit.has_value();
}

void SimulatedProcesses::Save(SimulatedGeneration* generation, absl::Time now) {
  generation->saves_at = now + generation->saves_every;
  const bool runs = generation->life.state() == shim::GenerationReport::State::kRunning;
  if (!runs || generation->workers.front().exit.has_value()) return;
  ++generation->checkpoints;
  checkpoints_[generation->id].push_back(now);
}

// Does what GenerationProcesses of the shim does (shim/generation_processes.cc). Each rank that
// does not hang sends a beat in each step of time.
void SimulatedProcesses::FindHang(SimulatedGeneration* generation) {
  if (generation->life.state() != shim::GenerationReport::State::kRunning) return;
  const absl::Time now = clock_->Now();
  std::map<int, SimulatedWorker*> running;
  for (SimulatedWorker& worker : generation->workers) {
    if (worker.exit.has_value()) continue;
    running[worker.rank] = &worker;
    if (!hung_.contains({generation->id, worker.rank}))
      generation->progress->Beat(worker.rank, now);
  }
  if (now < generation->progress->look_at()) return;
  const auto hang = generation->progress->Look(
      now, [&running](int rank) { return running.contains(rank) ? 'S' : '\0'; });
  if (!hang.has_value() || running[hang->rank]->hung.has_value()) return;
  SimulatedWorker& worker = *running[hang->rank];
  worker.hung.emplace();
  worker.hung->kind = shim::ExitFact::Kind::kHung;
  worker.hung->message = "has made no progress";
  worker.ended_at = hang->last_beat.value_or(now - hang->silence);
}

void SimulatedProcesses::RunGeneration(SimulatedShim* shim, absl::Time now) {
  SimulatedGeneration& generation = *shim->generation;
  const shim::GenerationReport before = ReportOf(generation);
  if (before.state == shim::GenerationReport::State::kStarting && now >= generation.exec_at) {
    if (generation.failure.has_value()) {
      for (SimulatedWorker& worker : generation.workers) worker.exit = *generation.failure;
    } else {
      generation.life.ExecDone();
    }
  }
  if (now >= generation.life.fence_at()) Abandon(&generation, now);
  if (now >= generation.saves_at) Save(&generation, now);
  if (generation.progress.has_value()) FindHang(&generation);
  bool any_runs = false;
  for (SimulatedWorker& worker : generation.workers)
    any_runs |= RunWorker(&generation, &worker, now);
  if (!any_runs && generation.alive()) {
    generation.life.WorkersGone(now);
    generation.life.NothingLeft();
  }
  const shim::GenerationReport after = ReportOf(generation);
  shim->changed |= before.checkpoints != after.checkpoints;
  const auto exits = [](const shim::GenerationReport& report) {
    return std::count_if(report.workers.begin(), report.workers.end(),
                         [](const shim::WorkerReport& worker) { return worker.exit.has_value(); });
  };
  shim->changed |= before.state != after.state || exits(before) != exits(after);
}

void SimulatedProcesses::Run(absl::Time now) {
  for (auto entry = shims_.begin(); entry != shims_.end();) {
    SimulatedShim& shim = entry->second;
    if (shim.generation.has_value()) RunGeneration(&shim, now);
    if (now >= shim.leaves_at && (!shim.generation.has_value() || !shim.generation->alive())) {
      LeftShim& left = left_.emplace_back(LeftShim{entry->first, std::nullopt, shim.asked_to_exit});
      if (shim.generation.has_value()) left.report = ReportOf(*shim.generation);
      if (left.report.has_value() && !shim.asked_to_exit) {
        SimulatedShimFolder(disk_, entry->first).WriteResult(*left.report);
      }
      entry = shims_.erase(entry);
    } else {
      ++entry;
    }
  }
}

void SimulatedProcesses::AgentGone(absl::Time now) {
  for (auto& [job, shim] : shims_) {
    if (shim.generation.has_value() && shim.generation->keep_without_agent) continue;
    if (shim.generation.has_value()) Abandon(&*shim.generation, now);
    shim.leaves_at = std::min(shim.leaves_at, now);
  }
}

void SimulatedProcesses::Abandon(SimulatedGeneration* generation, absl::Time now) {
  using State = shim::GenerationReport::State;
  const State state = generation->life.state();
  if (!generation->failure && (state == State::kStarting || state == State::kRunning)) {
    generation->failure.emplace();
    generation->failure->kind = shim::ExitFact::Kind::kAbandoned;
  }
  Stop(generation, now, generation->orphan_grace);
}

void SimulatedProcesses::Contact(absl::Time now) {
  for (auto& [job, shim] : shims_) {
    if (shim.generation.has_value()) shim.generation->life.Contact(now);
  }
}

void SimulatedProcesses::KillShim(const common::JobId& job, absl::Time now) {
  const auto found = shims_.find(job);
  if (found == shims_.end()) return;
  LeftShim left{job, std::nullopt, /*asked_to_exit=*/false};
  if (std::optional<SimulatedGeneration>& generation = found->second.generation) {
    for (SimulatedWorker& worker : generation->workers) {
      if (!worker.exit.has_value()) End(generation->id, &worker, {Signalled(9), now});
    }
    left.report = ReportOf(*generation);
  }
  left_.push_back(std::move(left));
  shims_.erase(found);
}

void SimulatedProcesses::Reboot(absl::Time now) {
  for (auto& [job, shim] : shims_) {
    if (!shim.generation.has_value()) continue;
    for (SimulatedWorker& worker : shim.generation->workers) {
      if (!worker.exit.has_value()) End(shim.generation->id, &worker, {Signalled(9), now});
    }
  }
  shims_.clear();
  left_.clear();
}

std::vector<SimulatedKill> SimulatedProcesses::TakeKills() { return std::exchange(kills_, {}); }

std::vector<LeftShim> SimulatedProcesses::TakeLeft() { return std::exchange(left_, {}); }

const std::map<int, WorkerEnd>& SimulatedProcesses::EndsOf(const common::GenerationId& id) const {
  static const std::map<int, WorkerEnd> kNone;
  const auto generation = ends_.find(id);
  return generation == ends_.end() ? kNone : generation->second;
}

const std::vector<absl::Time>& SimulatedProcesses::CheckpointsOf(
    const common::GenerationId& id) const {
  static const std::vector<absl::Time> kNone;
  const auto generation = checkpoints_.find(id);
  return generation == checkpoints_.end() ? kNone : generation->second;
}

bool SimulatedProcesses::HasHung(const common::GenerationId& id, int rank) const {
  return hung_.contains({id, rank});
}

}  // namespace accel::simulation
