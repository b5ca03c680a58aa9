// The link of an agent to its coordinator over a network that delays, doubles and loses messages.
//
// The stream keeps what gRPC guarantees: messages of one stream arrive in order, and are lost only
// together with their stream. The faults:
//
// * Each direction delays messages.
// * A message that was delivered arrives again later.
// * A stream breaks, with the messages that are on their way.
// * The coordinator detects the break late, so messages of an old stream arrive after messages of
//   the next one.
// * A partition holds back all messages.
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

// The probabilities and times of the faults in one schedule. If all are zero, there are no faults.
struct NetworkHabits {
  absl::Duration longest_delay = absl::Milliseconds(400);
  double doubled = 0.1;
};

// Not thread-safe. The callbacks of `coordinator` run on the thread that calls its RunOnce().
class UnreliableLink final : public agent::CoordinatorLink {
 public:
  // The arguments must outlive the link.
  UnreliableLink(uint32_t seed, const NetworkHabits* habits, coordinator::Coordinator* coordinator,
                 common::Clock* clock);

  // Delivers the messages that are due, and connects if there is no stream.
  void Run();

  // Breaks the stream. Messages on their way to the coordinator may still arrive. The coordinator
  // detects the break after `unnoticed`.
  void Break(absl::Duration unnoticed);

  // Starts or ends a partition. During a partition no message passes, and a stream breaks after
  // gRPC's keepalive timeout.
  void SetPartition(bool partition);

  // Returns when the coordinator last received a report that was not a repeated one.
  absl::Time last_heard() const { return last_heard_; }

  uint64_t session() override { return stream_ == nullptr ? 0 : number_; }
  void Report(v1::NodeObserved observed) override;
  std::optional<v1::NodeDesired> TakeDesired(uint64_t session) override;
  int64_t max_report_bytes() override { return agent::kMaxReportBytes; }
  absl::Status fatal() override;
  int wake_fd() const override { return wake_.get(); }

 private:
  template <typename Message>
  using Queue = std::deque<std::pair<absl::Time, Message>>;

  struct Stream {
    std::unique_ptr<coordinator::AgentSession> session;
    Queue<v1::NodeObserved> up;
    Queue<coordinator::DesiredPtr> down;
    uint64_t delivered = 0;                         // The highest sequence number delivered.
    absl::Time closed_at = absl::InfiniteFuture();  // When the coordinator detects the break.
    absl::Status ended;                             // How the coordinator ended the stream.
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
  std::shared_ptr<Stream> stream_;              // The agent's stream. Null if there is none.
  std::deque<std::shared_ptr<Stream>> broken_;  // The coordinator has not yet detected their end.
  absl::Time connect_at_ = absl::InfinitePast();
  bool partition_ = false;
  absl::Time silent_since_;
  absl::Time last_heard_ = absl::InfinitePast();
};

}  // namespace accel::simulation
