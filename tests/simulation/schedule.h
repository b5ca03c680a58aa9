// What happens to a simulated cluster from outside, as text: one event in each line, after its
// time.
//
// clang-format off
//   seed 42
//   2.3s  submit 1 nodes=2 processes=1 cpu max_restarts=1 time_limit=9s
//   2.9s  crash_at_commit stored away=1.5s
//   4.1s  cancel 1 at_once
//   5s    cut n2 up
// clang-format on
//
// The seed decides everything else: delays, what is lost, and how processes behave. A line that
// starts with "#" is a comment.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "tests/simulation/unreliable_cluster.h"

namespace accel::simulation {

struct Event {
  absl::Duration at;  // Since the start of the cluster.
  std::string words;
};

struct Schedule {
  uint32_t seed = 0;
  std::vector<Event> events;  // By time.
};

// Returns a schedule with this many random events.
Schedule RandomSchedule(uint32_t seed, int events);

std::string ToText(const Schedule& schedule);

// INVALID_ARGUMENT: the text is not a schedule; the message has the number of the line. The words
// of events are checked when they are performed.
absl::StatusOr<Schedule> ParseSchedule(absl::string_view text);

// Lets the event happen. An event that is about a job that was not submitted has no effect.
// INVALID_ARGUMENT: it is no event; the message has its words.
absl::Status Perform(const Event& event, UnreliableCluster* cluster);

}  // namespace accel::simulation
