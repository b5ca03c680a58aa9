// A client that submits one job and waits for its end, as `accel submit --wait` does. It repeats a
// submit whose answer was lost under the same submit id, and a watch that broke from the version
// that it knows (cli/follow_job.cc).
//
// It remembers what it was told, and notices if that is taken back.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/backoff.h"
#include "common/clock.h"
#include "common/ids.h"
#include "tests/simulation/simulated_coordinator.h"

namespace accel::simulation {

struct ClientHabits {
  absl::Duration longest_delay = absl::Milliseconds(300);
  double lost = 0.1;  // Probability that the answer of a call is lost.
};

// Not thread-safe. The callbacks of the coordinator run on the thread that calls its RunOnce().
class SimulatedClient {
 public:
  // The pointers must outlive the client.
  SimulatedClient(int number, v1::JobSpec spec, uint32_t seed, const ClientHabits* habits,
                  SimulatedCoordinator* coordinator, common::Clock* clock);

  void Run();

  // Asks for the job to be cancelled, once it is acknowledged.
  void Cancel(bool at_once);

  // Breaks the client's connection. What is on its way to the coordinator may still arrive.
  void Drop();

  int number() const { return number_; }
  const std::string& submit_id() const { return submit_id_; }
  const v1::JobSpec& spec() const { return spec_; }
  // Returns the job that the coordinator has acknowledged.
  const std::optional<common::JobId>& job() const { return job_; }
  // Returns when the client was first told that its cancel is accepted. InfiniteFuture if it was
  // not.
  absl::Time cancelled_at() const { return cancelled_at_; }
  bool asked_at_once() const { return at_once_; }
  // Returns the final phase that a watch of this client has ended with.
  std::optional<v1::JobPhase> end() const { return end_; }
  // Returns true if nothing is left to do: the end is known, and was the same when asked again.
  bool done() const { return end_.has_value() && looks_ == 0; }
  // Returns an error if the coordinator has contradicted itself.
  const absl::Status& found() const { return found_; }

 private:
  // One call and what has arrived of its answers. A callback that comes after the client has
  // dropped the call finds it gone.
  struct Call {
    enum class Kind { kSubmit, kCancel, kWatch };
    Kind kind = Kind::kSubmit;
    uint64_t life = 0;   // The coordinator's process.
    absl::Time sent_at;  // When the request arrives there.
    absl::Time give_up_at;
    bool arrived = false;
    bool at_once = false;
    std::unique_ptr<coordinator::Subscription> watch;
    std::deque<std::pair<absl::Time, absl::StatusOr<coordinator::JobPtr>>> answers;
  };

  void Begin(Call::Kind kind);
  void Arrive(const std::shared_ptr<Call>& call);
  void Answer(const std::weak_ptr<Call>& call, absl::StatusOr<coordinator::JobPtr> answer);
  void TakeAnswers();
  void Take(const absl::Status& status, const coordinator::JobPtr& job);
  void TakeVersion(const v1::Job& job);
  void Retry();
  void Found(std::string what);
  double Chance() { return std::uniform_real_distribution<double>(0, 1)(random_); }

  const int number_;
  const std::string submit_id_;
  const v1::JobSpec spec_;
  const ClientHabits& habits_;
  SimulatedCoordinator* const coordinator_;
  common::Clock* const clock_;
  std::mt19937 random_;
  common::Backoff backoff_;
  absl::Time next_call_ = absl::InfinitePast();
  std::shared_ptr<Call> call_;
  // Requests of calls that this client has given up, which are still on their way.
  std::vector<std::shared_ptr<Call>> late_;
  std::optional<common::JobId> job_;
  bool cancel_ = false;
  bool at_once_ = false;
  absl::Time cancelled_at_ = absl::InfiniteFuture();
  uint64_t known_version_ = 0;
  std::optional<v1::JobPhase> end_;
  int looks_ = 2;  // How often the client still looks at the job after its end.
  absl::Status found_;
};

}  // namespace accel::simulation
