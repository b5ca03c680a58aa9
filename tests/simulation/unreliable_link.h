// An agent's way to its coordinator over a network that delays, doubles and loses.
//
// The stream keeps what gRPC promises: messages of one stream arrive in order, and are lost only
// together with their stream. Everything else goes wrong: each direction delays; a message that was
// delivered comes again later; a stream breaks with what is under way; the coordinator learns of
// the break late, so that messages of an old stream arrive after those of its successor; a
// partition holds everything back.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <utility>

#include "absl/time/time.h"
#include "agent/coordinator_link.h"
#include "common/clock.h"
#include "common/unique_fd.h"
#include "coordinator/coordinator.h"

namespace accel::simulation {

// Of one schedule; its faults end when all of it is zero.
struct NetworkHabits {
  absl::Duration longest_delay = absl::Milliseconds(400);
  double doubled = 0.1;
};

// Not thread-safe: the callbacks of `coordinator` come from the thread that calls its RunOnce().
class UnreliableLink final : public agent::CoordinatorLink {
 public:
  // All of them outlive the link.
  UnreliableLink(uint32_t seed, const NetworkHabits* habits, coordinator::Coordinator* coordinator,
                 common::Clock* clock);

  // Delivers what is due, and connects.
  void Run();

  // The stream breaks. What is under way upwards may still arrive; the coordinator learns of the
  // break after `unnoticed`.
  void Break(absl::Duration unnoticed);

  // While it holds nothing passes. A stream breaks after as long a silence as gRPC's keepalive
  // bears.
  void SetPartition(bool partition);

  // When the coordinator got a report that it had not got before.
  absl::Time last_heard() const { return last_heard_; }

  uint64_t session() override { return stream_ == nullptr ? 0 : number_; }
  void Report(v1::NodeObserved observed) override;
  std::optional<v1::NodeDesired> TakeDesired() override;
  int64_t most_report_bytes() override { return agent::kMostReportBytes; }
  absl::Status fatal() override;
  int wake_fd() const override { return wake_.get(); }

 private:
  template <typename Message>
  using Queue = std::deque<std::pair<absl::Time, Message>>;

  struct Stream {
    std::unique_ptr<coordinator::AgentSession> session;
    Queue<v1::NodeObserved> up;
    Queue<coordinator::DesiredPtr> down;
    uint64_t delivered = 0;                         // The highest sequence number.
    absl::Time closed_at = absl::InfiniteFuture();  // For the coordinator.
    absl::Status ended;                             // By the coordinator.
  };

  void Open();
  void Deliver(Stream* stream);
  absl::Time Arrival(absl::Time after);
  bool Chance(double probability);

  std::mt19937 random_;
  const NetworkHabits* const habits_;
  coordinator::Coordinator* const coordinator_;
  common::Clock* const clock_;
  common::UniqueFd wake_;
  uint64_t number_ = 0;
  std::shared_ptr<Stream> stream_;              // The agent's. Null: none.
  std::deque<std::shared_ptr<Stream>> broken_;  // The coordinator has not seen their end yet.
  absl::Time connect_at_ = absl::InfinitePast();
  bool partition_ = false;
  absl::Time silent_since_;
  absl::Time last_heard_ = absl::InfinitePast();
};

}  // namespace accel::simulation
