#include "tests/simulation/simulated_shims.h"

#include <sys/eventfd.h>

#include <utility>

#include "absl/strings/str_cat.h"

namespace accel {
namespace {

using State = GenerationReport::State;

constexpr absl::Duration kLeaves = absl::Milliseconds(3);

absl::Status NoShim(const JobId& job) {
  return absl::NotFoundError(absl::StrCat("Job ", job.value(), " has no shim."));
}

// The shim has left: a generation that had not ended died with it.
GenerationReport AfterShim(GenerationReport report) {
  if (report.state == State::kEnded) return report;
  report.state = State::kEnded;
  report.failure.emplace();
  report.failure->kind = ExitFact::Kind::kShimDied;
  for (WorkerReport& worker : report.workers) {
    if (!worker.exit.has_value()) worker.exit = report.failure;
  }
  return report;
}

}  // namespace

SimulatedShims::SimulatedShims(SimulatedProcesses* processes, Clock* clock)
    : processes_(processes), clock_(clock), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

SimulatedShim* SimulatedShims::Find(const JobId& job) {
  const auto found = processes_->shims().find(job);
  return found == processes_->shims().end() ? nullptr : &found->second;
}

absl::Status SimulatedShims::StartShim(const JobId& job) {
  if (!processes_->shims().emplace(job, SimulatedShim()).second) {
    return absl::AlreadyExistsError(absl::StrCat("Job ", job.value(), " has a shim."));
  }
  return absl::OkStatus();
}

absl::Status SimulatedShims::StartGeneration(const GenerationStart& start, UniqueFd store_socket) {
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
  processes_->Start(start, clock_->Now());
  return absl::OkStatus();
}

absl::Status SimulatedShims::StopGeneration(const GenerationStop& stop) {
  SimulatedShim* shim = Find(stop.id.job);
  if (shim == nullptr) return NoShim(stop.id.job);
  if (!shim->generation || shim->generation->id != stop.id) return absl::OkStatus();
  processes_->Stop(&*shim->generation, clock_->Now(), stop.grace);
  shim->changed = true;
  return absl::OkStatus();
}

void SimulatedShims::EndShim(const JobId& job) {
  SimulatedShim* shim = Find(job);
  if (shim == nullptr || shim->leaves_at != absl::InfiniteFuture()) return;
  if (shim->generation) {
    processes_->Stop(&*shim->generation, clock_->Now(), absl::ZeroDuration());
  }
  shim->leaves_at = clock_->Now() + kLeaves;
}

std::vector<ShimReport> SimulatedShims::TakeReports() {
  std::vector<ShimReport> reports;
  for (auto& [job, report] : processes_->TakeLeft()) {
    ShimReport left{job, std::nullopt, /*shim_ended=*/true};
    if (!report.id.job.empty()) left.generation = AfterShim(std::move(report));
    reports.push_back(std::move(left));
  }
  for (auto& [job, shim] : processes_->shims()) {
    if (!std::exchange(shim.changed, false)) continue;
    reports.push_back({job, ReportOf(*shim.generation), /*shim_ended=*/false});
  }
  return reports;
}

}  // namespace accel
