#include "tests/simulation/simulated_shims.h"

#include <sys/eventfd.h>

#include <utility>

#include "absl/strings/str_cat.h"

namespace accel::simulation {
namespace {

using State = shim::GenerationReport::State;

constexpr absl::Duration kLeaves = absl::Milliseconds(3);

absl::Status NoShim(const common::JobId& job) {
  return absl::NotFoundError(absl::StrCat("Job ", job.value(), " has no shim."));
}

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

SimulatedShims::SimulatedShims(SimulatedProcesses* processes, common::Clock* clock)
    : processes_(processes), clock_(clock), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

SimulatedShim* SimulatedShims::Find(const common::JobId& job) {
  const auto found = processes_->shims().find(job);
  return found == processes_->shims().end() ? nullptr : &found->second;
}

std::vector<shim::ShimReport> SimulatedShims::Adopt() {
  processes_->FindLeftAgain();
  for (auto& [job, shim] : processes_->shims()) shim.changed = true;
  return TakeReports();
}

absl::Status SimulatedShims::StartShim(const common::JobId& job) {
  if (!processes_->shims().emplace(job, SimulatedShim()).second) {
    return absl::AlreadyExistsError(absl::StrCat("Job ", job.value(), " has a shim."));
  }
  return absl::OkStatus();
}

absl::Status SimulatedShims::StartGeneration(const shim::StartCommand& start,
                                             common::UniqueFd store_socket) {
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
  processes_->ForgetLeft(start.id.job);
  processes_->Start(start, std::move(store_socket), clock_->Now());
  return absl::OkStatus();
}

absl::Status SimulatedShims::StopGeneration(const shim::StopCommand& stop) {
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
  if (shim == nullptr || shim->leaves_at != absl::InfiniteFuture()) return;
  if (shim->generation) {
    processes_->Stop(&*shim->generation, clock_->Now(), absl::ZeroDuration());
  }
  shim->leaves_at = clock_->Now() + kLeaves;
  shim->asked_to_exit = true;
}

std::vector<shim::ShimReport> SimulatedShims::TakeReports() {
  std::vector<shim::ShimReport> reports;
  for (auto& [job, report] : processes_->TakeLeft()) {
    shim::ShimReport left{job, std::nullopt, /*shim_ended=*/true};
    if (!report.id.job.empty()) left.generation = AfterShim(std::move(report));
    reports.push_back(std::move(left));
  }
  for (auto& [job, shim] : processes_->shims()) {
    if (!std::exchange(shim.changed, false)) continue;
    shim::ShimReport report{job, std::nullopt, /*shim_ended=*/false};
    report.shim_is_leaving = shim.leaves_at != absl::InfiniteFuture();
    if (shim.generation) report.generation = ReportOf(*shim.generation);
    reports.push_back(std::move(report));
  }
  return reports;
}

}  // namespace accel::simulation
