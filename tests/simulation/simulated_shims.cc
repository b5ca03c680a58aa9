#include "tests/simulation/simulated_shims.h"

#include <sys/eventfd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "shim/host/generation_start.h"
#include "tests/simulation/simulated_shim_folder.h"

namespace accel::simulation {
namespace {

using State = shim::GenerationReport::State;

constexpr absl::Duration kLeaves = absl::Milliseconds(3);

absl::Status NoShim(const common::JobId& job) {
  return absl::NotFoundError(absl::StrCat("Job ", job.value(), " has no shim."));
}

absl::Status Died() { return absl::AbortedError("The agent was killed."); }

// Returns the report after the shim has exited. A generation that had not ended died with it.
shim::GenerationReport AfterShim(shim::GenerationReport report) {
  if (report.state == State::kEnded) return report;
  report.state = State::kEnded;
  report.failure.emplace();
  report.failure->kind = shim::ExitFact::Kind::kShimDied;
  for (shim::WorkerReport& worker : report.workers) {
    if (!worker.exit.has_value()) worker.exit = report.failure;
  }
  return report;
}

}  // namespace

SimulatedShims::SimulatedShims(std::string boot_id, const PlantedBug* bug,
                               SimulatedProcesses* processes, NodeDisk* disk, common::Clock* clock)
    : boot_id_(std::move(boot_id)),
      bug_(*bug),
      processes_(processes),
      disk_(disk),
      clock_(clock),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void SimulatedShims::DieAfter(StartStep step, std::function<void()> on_death) {
  dies_after_.emplace(step, std::move(on_death));
}

bool SimulatedShims::DiesAfter(StartStep step) {
  if (!dies_after_.has_value() || dies_after_->first != step) return died_;
  died_ = true;
  dies_after_->second();
  dies_after_.reset();
  return true;
}

SimulatedShim* SimulatedShims::Find(const common::JobId& job) {
  const auto found = processes_->shims().find(job);
  return found == processes_->shims().end() || !known_.contains(job) ? nullptr : &found->second;
}

std::vector<shim::ShimReport> SimulatedShims::Adopt() {
  processes_->TakeLeft();  // No agent was there. What they have written is on the disk.
  std::vector<shim::ShimReport> reports;
  for (const common::JobId& job : SimulatedShimFolder::List(*disk_)) {
    const auto living = processes_->shims().find(job);
    if (living != processes_->shims().end()) {
      known_.insert(job);
      living->second.changed = true;
    } else if (auto report = AdoptDead(job)) {
      reports.push_back(*std::move(report));
    }
  }
  for (shim::ShimReport& report : TakeReports()) reports.push_back(std::move(report));
  return reports;
}

// Does what PosixShimHost does with a record whose shim has no process: FindShims(), and then
// Finish() in shim/host/leftovers.cc.
std::optional<shim::ShimReport> SimulatedShims::AdoptDead(const common::JobId& job) {
  SimulatedShimFolder folder(disk_, job);
  const shim::ShimRecord record = folder.ReadRecord();
  if (record.boot_id != boot_id_ || record.generation == 0) {
    folder.Remove();
    return std::nullopt;
  }
  std::optional<shim::GenerationReport> result = folder.ReadResult();
  const bool never_started = bug_.forgets_starts || folder.ReadStarted() < record.generation;
  const bool is_newest = result.has_value() && result->id.generation == record.generation;
  if (!never_started && !is_newest) result = ReportFrom(job, record);
  return Finish({job, std::move(result), /*asked_to_exit=*/false});
}

// Returns the last report about a shim. Keeps it on the disk until the coordinator has stored it.
shim::ShimReport SimulatedShims::Finish(const LeftShim& left) {
  shim::ShimReport report{left.job, std::nullopt, /*shim_ended=*/true};
  if (left.report.has_value()) report.generation = AfterShim(*left.report);
  SimulatedShimFolder folder(disk_, left.job);
  if (report.generation.has_value() && !left.asked_to_exit && !forgotten_.contains(left.job)) {
    folder.WriteResult(*report.generation);
  } else {
    folder.Remove();
  }
  return report;
}

absl::Status SimulatedShims::StartShim(const common::JobId& job) {
  if (died_) return Died();
  if (processes_->shims().contains(job)) {
    return absl::AlreadyExistsError(absl::StrCat("Job ", job.value(), " has a shim."));
  }
  SimulatedShimFolder folder(disk_, job);
  folder.Remove();
  const absl::Status intent = folder.WriteRecord({.boot_id = boot_id_});
  if (!intent.ok()) {
    return absl::InternalError(absl::StrCat("Cannot start accel-shim: ", intent.message(), "."));
  }
  if (DiesAfter(StartStep::kIntent)) return Died();
  processes_->shims().emplace(job, SimulatedShim());
  known_.insert(job);
  return DiesAfter(StartStep::kSpawn) ? Died() : absl::OkStatus();
}

absl::Status SimulatedShims::StartGeneration(const shim::StartCommand& start,
                                             common::UniqueFd store_socket) {
  if (died_) return Died();
  SimulatedShim* shim = Find(start.id.job);
  if (shim == nullptr) return NoShim(start.id.job);
  const std::optional<SimulatedGeneration>& newest = shim->generation;
  if (newest && start.id.generation <= newest->id.generation) return absl::OkStatus();
  if (newest && newest->alive()) {
    return absl::FailedPreconditionError("The earlier generation has not ended.");
  }
  if (start.serves_store && !store_socket.valid()) {
    return absl::InvalidArgumentError("A start that serves the store needs its socket.");
  }
  const absl::Status recorded = SimulatedShimFolder(disk_, start.id.job)
                                    .WriteRecord(shim::RecordOfStart(start, {.boot_id = boot_id_}));
  if (!recorded.ok()) return recorded;
  if (DiesAfter(StartStep::kRecord)) return Died();
  forgotten_.erase(start.id.job);
  processes_->Start(start, std::move(store_socket), clock_->Now());
  return DiesAfter(StartStep::kStart) ? Died() : absl::OkStatus();
}

absl::Status SimulatedShims::StopGeneration(const shim::StopCommand& stop) {
  if (died_) return Died();
  ++stops_;
  SimulatedShim* shim = Find(stop.id.job);
  if (shim == nullptr) return NoShim(stop.id.job);
  if (!shim->generation || shim->generation->id != stop.id) return absl::OkStatus();
  processes_->Stop(&*shim->generation, clock_->Now(), stop.grace);
  shim->changed = true;
  return absl::OkStatus();
}

void SimulatedShims::EndShim(const common::JobId& job) {
  SimulatedShim* shim = Find(job);
  if (died_ || shim == nullptr || shim->leaves_at != absl::InfiniteFuture()) return;
  if (shim->generation) {
    processes_->Stop(&*shim->generation, clock_->Now(), absl::ZeroDuration());
  }
  shim->leaves_at = clock_->Now() + kLeaves;
  shim->asked_to_exit = true;
}

void SimulatedShims::Forget(const common::JobId& job) {
  if (Find(job) != nullptr) {
    forgotten_.insert(job);
  } else {
    SimulatedShimFolder(disk_, job).Remove();
  }
}

std::vector<shim::ShimReport> SimulatedShims::TakeReports() {
  std::vector<shim::ShimReport> reports;
  for (const LeftShim& left : processes_->TakeLeft()) {
    if (known_.erase(left.job) > 0) reports.push_back(Finish(left));
  }
  for (auto& [job, shim] : processes_->shims()) {
    if (!known_.contains(job) || !std::exchange(shim.changed, false)) continue;
    shim::ShimReport report{job, std::nullopt, /*shim_ended=*/false};
    report.shim_is_leaving = shim.leaves_at != absl::InfiniteFuture();
    if (shim.generation) report.generation = ReportOf(*shim.generation);
    reports.push_back(std::move(report));
  }
  return reports;
}

}  // namespace accel::simulation
