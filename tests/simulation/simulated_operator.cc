#include "tests/simulation/simulated_operator.h"

#include <algorithm>

namespace accel::simulation {
namespace {

constexpr absl::Duration kLongestCall = absl::Seconds(5);

}  // namespace

void SimulatedOperator::Drain(const std::string& node, v1::Drain drain) {
  Request& request = requests_[node];
  request.drain = drain;
  if (drain == v1::MOVE_JOBS) {
    moves_until_[node] = absl::InfiniteFuture();
  } else {
    EndMove(node);
  }
  ++request.number;
  request.answered = false;
  request.asked_of = 0;
  // From the call on, the coordinator may give the node work.
  if (drain == v1::NOT_DRAINED) request.drained_since = absl::InfiniteFuture();
}

void SimulatedOperator::EndDrains() {
  for (const auto& [node, request] : requests_) Drain(node, v1::NOT_DRAINED);
}

void SimulatedOperator::Run() {
  if (!coordinator_->runs()) return;
  for (auto& [node, request] : requests_) {
    if (request.answered || request.asked_of == coordinator_->life()) continue;
    request.asked_of = coordinator_->life();
    coordinator_->process()->DrainNode(
        node, request.drain,
        [this, node = node, number = request.number](const absl::Status& done) {
          Request& asked = requests_[node];
          if (asked.number != number) return;
          asked.asked_of = 0;
          if (!done.ok()) return;
          asked.answered = true;
          EndMove(node);
          if (asked.drain != v1::NOT_DRAINED) {
            asked.drained_since = std::min(asked.drained_since, clock_->Now());
          }
        });
  }
}

// A call that was made before may not have arrived yet.
void SimulatedOperator::EndMove(const std::string& node) {
  const auto move = moves_until_.find(node);
  if (move != moves_until_.end()) {
    move->second = std::min(move->second, clock_->Now() + kLongestCall);
  }
}

bool SimulatedOperator::MayMoveJobs(const std::string& node, absl::Time since) const {
  const auto move = moves_until_.find(node);
  return move != moves_until_.end() && move->second >= since;
}

absl::Time SimulatedOperator::drained_since(const std::string& node) const {
  const auto found = requests_.find(node);
  return found == requests_.end() ? absl::InfiniteFuture() : found->second.drained_since;
}

}  // namespace accel::simulation
