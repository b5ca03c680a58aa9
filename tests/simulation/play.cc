#include "tests/simulation/play.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/log.h"

namespace accel::simulation {
namespace {

constexpr int kEvents = 40;
// Every job ends within this time after the last fault. The jobs of a schedule wait for each other,
// and each may be started several times.
constexpr absl::Duration kLongestCalm = absl::Minutes(30);
constexpr int kMaxAttempts = 200;

absl::Status PlayOn(const Schedule& schedule, UnreliableCluster* cluster) {
  for (const Event& event : schedule.events) {
    absl::Status status = cluster->Run(event.at - cluster->time());
    common::LogInfo("event", {{"at", absl::FormatDuration(event.at)}, {"what", event.words}});
    if (status.ok()) status = Perform(event, cluster);
    if (!status.ok()) return status;
  }
  const absl::Status status = cluster->Run(absl::Seconds(1));
  return status.ok() ? cluster->RunToTheEnd(kLongestCalm) : status;
}

Schedule Without(const Schedule& schedule, size_t first, size_t count) {
  Schedule rest = schedule;
  const auto begin = rest.events.begin() + static_cast<std::ptrdiff_t>(first);
  rest.events.erase(begin, begin + static_cast<std::ptrdiff_t>(count));
  return rest;
}

}  // namespace

Outcome Play(const Schedule& schedule, const Plant& plant) {
  const PlantedBug bug = plant();
  UnreliableCluster cluster(schedule.seed, &bug);
  Outcome outcome;
  outcome.status = PlayOn(schedule, &cluster);
  outcome.simulated = cluster.time();
  outcome.seen = cluster.seen();
  return outcome;
}

// Removes ranges of events, half of them at first and single ones at last, as long as what is left
// fails.
Schedule Shrink(const Schedule& failing, const Plant& plant) {
  const absl::StatusCode code = Play(failing, plant).status.code();
  Schedule least = failing;
  int attempts = 0;
  for (size_t size = std::max<size_t>(1, least.events.size() / 2); size > 0;) {
    bool any = false;
    for (size_t first = 0; first < least.events.size() && attempts < kMaxAttempts;) {
      const size_t count = std::min(size, least.events.size() - first);
      Schedule candidate = Without(least, first, count);
      ++attempts;
      if (Play(candidate, plant).status.code() == code) {
        least = std::move(candidate);
        any = true;
      } else {
        first += count;
      }
    }
    if (size == 1 && (!any || attempts >= kMaxAttempts)) break;
    size = size == 1 ? 1 : size / 2;
  }
  return least;
}

Outcome PlaySeed(uint32_t seed, const Plant& plant) {
  const Schedule schedule = RandomSchedule(seed, kEvents);
  Outcome outcome = Play(schedule, plant);
  if (outcome.status.ok()) return outcome;
  const Schedule least = Shrink(schedule, plant);
  outcome.status = absl::Status(
      outcome.status.code(),
      absl::StrCat("seed ", seed, ": ", outcome.status.message(), "\nAfter ",
                   schedule.events.size() - least.events.size(), " of its ", schedule.events.size(),
                   " events were removed: ", Play(least, plant).status.message(), "\n",
                   ToText(least)));
  return outcome;
}

}  // namespace accel::simulation
