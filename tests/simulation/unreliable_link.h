// The link of one host's agent to the coordinator over a network that delays, doubles and loses
// messages.
//
// A stream keeps what gRPC guarantees: its messages arrive in order, and are lost only together
// with the stream. The faults:
//
// * Each direction delays messages.
// * A message that was delivered arrives again later.
// * A stream breaks, with the messages that are on their way.
// * The coordinator detects the break late, so messages of an old stream, or of an agent that was
//   killed, arrive after messages of the next one.
// * A direction is cut. TCP keeps what was sent for later. Each side detects the silence by its
//   keepalive, so for some time only one of them believes in the stream.
// * The coordinator is paused, killed, or its host goes down.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "agent/coordinator_link.h"
#include "common/backoff.h"
#include "common/clock.h"
#include "common/ids.h"
#include "common/unique_fd.h"
#include "coordinator/report_reader.h"
#include "tests/simulation/clock_precision.h"
#include "tests/simulation/simulated_coordinator.h"

namespace accel::simulation {

// The probabilities and times of the faults in one schedule. If all are zero, there are no faults.
struct NetworkHabits {
  absl::Duration longest_delay = absl::Milliseconds(400);
  double doubled = 0.1;
};

// Not thread-safe. The callbacks of the coordinator run on the thread that calls its RunOnce().
class UnreliableLink final : public agent::CoordinatorLink {
 public:
  // The arguments must outlive the link.
  UnreliableLink(uint32_t seed, const NetworkHabits* habits, const PlantedBug* bug,
                 SimulatedCoordinator* coordinator, common::Clock* clock);

  // Delivers the messages that are due, and connects if there is no stream. If the agent is paused
  // or dead, only what was sent before happens.
  void Run(bool agent_runs);

  // Breaks the stream. Messages on their way to the coordinator may still arrive. The coordinator
  // detects the break after `unnoticed`, or later if it cannot be reached.
  void Break(absl::Duration unnoticed);

  // Connects the agent to another coordinator, which knows nothing of it, until Return(). Breaks
  // the stream. What a stranger receives does not count for last_heard().
  void GoTo(SimulatedCoordinator* stranger);
  void Return();
  bool is_astray() const { return coordinator_ != home_; }

  // Cuts directions, or joins them again.
  void Cut(bool up, bool down);

  // Returns when the coordinator last received a report that was not a repeated one, over a session
  // that it has accepted.
  absl::Time last_heard() const { return last_heard_; }

  // Returns true if the coordinator has accepted the agent's stream and has not closed it.
  bool is_accepted() const {
    return !is_astray() && stream_ != nullptr && stream_->accepted && stream_->session != nullptr;
  }

  // Returns what the messages so far can tell the coordinator about the clock of this node.
  const ClockPrecision& precision() const { return precision_; }
  // Returns true if this process of the coordinator has been told of a checkpoint of the
  // generation.
  bool HasToldOfCheckpoint(const common::GenerationId& id, uint64_t life) const {
    return told_of_checkpoints_.contains({life, id});
  }
  // Returns the number of the newest stream.
  uint64_t newest_stream() const { return number_; }

  uint64_t session() override { return stream_ == nullptr ? 0 : number_; }
  void Report(v1::NodeObserved observed) override;
  std::optional<v1::NodeDesired> TakeDesired(uint64_t session) override;
  int64_t max_report_bytes() override { return agent::kMaxReportBytes; }
  absl::Status fatal() override;
  int wake_fd() const override { return wake_.get(); }

 private:
  template <typename Message>
  using Queue = std::deque<std::pair<absl::Time, Message>>;

  struct Sent {
    v1::NodeObserved report;
    absl::Time at;
  };

  struct Stream {
    uint64_t life = 0;                                   // The coordinator's process.
    std::unique_ptr<coordinator::AgentSession> session;  // Null once the coordinator has closed it.
    coordinator::ReportReader reader;
    Queue<Sent> up;
    Queue<coordinator::DesiredPtr> down;
    uint64_t delivered = 0;                      // The highest sequence number delivered.
    absl::Time heard_at = absl::InfinitePast();  // When a report was last delivered.
    bool accepted = false;  // The coordinator has answered with a desired state.
    absl::Time closed_at = absl::InfiniteFuture();  // When the coordinator detects the break.
    absl::Status ended;                             // How the coordinator ended the stream.
  };

  void Open();
  void Deliver(Stream* stream);
  void RunKeepalives(bool agent_runs);
  void RunBroken();
  bool IsReset() const;
  void Connect(SimulatedCoordinator* coordinator);
  void NoteHeard(const Stream& stream);
  void NotePrecision();
  void NoteCheckpoints(const v1::NodeObserved& report);
  absl::Time Arrival(absl::Time after);
  double Chance() { return std::uniform_real_distribution<double>(0, 1)(random_); }

  std::mt19937 random_;
  const NetworkHabits& habits_;
  const PlantedBug& bug_;
  SimulatedCoordinator* const home_;
  SimulatedCoordinator* coordinator_;  // Where the agent connects.
  common::Clock* const clock_;
  common::Backoff backoff_;
  common::UniqueFd wake_;
  uint64_t number_ = 0;
  std::shared_ptr<Stream> stream_;              // The agent's stream. Null if there is none.
  std::deque<std::shared_ptr<Stream>> broken_;  // The coordinator has not yet detected their end.
  absl::Time connect_at_ = absl::InfinitePast();
  bool up_ = true;    // Packets reach the coordinator.
  bool down_ = true;  // Packets reach the agent.
  // When the keepalives of either side close the stream. Set while one of them gets no answer.
  std::optional<absl::Time> agent_closes_at_;
  std::optional<absl::Time> coordinator_closes_at_;
  absl::Time last_heard_ = absl::InfinitePast();
  ClockPrecision precision_;
  std::vector<std::pair<uint64_t, absl::Time>>
      arrived_;  // Versions that reports answer, when sent.
  std::set<std::pair<uint64_t, common::GenerationId>> told_of_checkpoints_;  // By process.
  uint64_t published_ = 0;  // The newest version from the coordinator. 0 if it was answered.
  absl::Time published_at_;
};

}  // namespace accel::simulation
