#include "coordinator/core/first_failure.h"

#include <signal.h>

#include <algorithm>
#include <string>
#include <utility>

#include "coordinator/core/exit_status.h"

namespace accel::coordinator {
namespace {

// Returns how far a failure usually is from the origin, where 0 is the origin. The header says why.
int Remoteness(const v1::ExitRecord& exit) {
  switch (exit.kind()) {
    case v1::ExitRecord::SHIM_DIED:
      return 1;
    case v1::ExitRecord::SIGNALLED:
      return !exit.out_of_memory() && (exit.signal() == SIGKILL || exit.signal() == SIGTERM) ? 2
                                                                                             : 0;
    case v1::ExitRecord::NODE_LOST:
      return 3;
    default:
      return 0;
  }
}

// Cuts between characters, because a protobuf string must be valid UTF-8.
std::string Bounded(const std::string& text) {
  if (text.size() <= kMaxLastLineBytes) return text;
  size_t size = kMaxLastLineBytes;
  while (size > 0 && (text[size] & 0xC0) == 0x80) --size;
  return text.substr(0, size);
}

std::vector<std::string> BoundedLines(const v1::ObservedWorker& worker) {
  std::vector<std::string> lines;
  const int count = worker.last_lines_size();
  for (int i = std::max(0, count - kMaxLastLines); i < count; ++i) {
    lines.push_back(Bounded(worker.last_lines(i)));
  }
  return lines;
}

// Returns true if the node's shim stopped the part because it had lost its agent or the
// coordinator. That is then why its workers got signals.
bool WasAbandoned(const Part& part) {
  return part.observed != nullptr && part.observed->failure().kind() == v1::ExitRecord::NODE_LOST;
}

// Collects failures and keeps the one nearest to the origin.
class Candidates {
 public:
  explicit Candidates(const v1::Job& job) : generation_(CurrentGeneration(job)->generation()) {}

  // Offers a failure. Of equally remote ones, the lowest `order` is kept. `rank` is -1 if the part
  // failed as a whole.
  void Offer(const Part& part, int order, int rank, const v1::ExitRecord& exit,
             std::vector<std::string> lines = {}) {
    const auto key = std::make_pair(Remoteness(exit), order);
    if (best_.has_value() && key_ <= key) return;
    key_ = key;
    best_.emplace();
    best_->set_generation(generation_);
    best_->set_rank(rank);
    best_->set_node_name(part.placement->node_name());
    *best_->mutable_exit() = exit;
    best_->mutable_exit()->set_message(Bounded(exit.message()));
    for (std::string& line : lines) best_->add_last_lines(std::move(line));
  }

  void OfferLoss(const Part& part, std::string why) {
    v1::ExitRecord exit;
    exit.set_kind(v1::ExitRecord::NODE_LOST);
    exit.set_message(std::move(why));
    Offer(part, part.placement->first_rank(), -1, exit);
  }

  std::optional<v1::FailureCause> Take() { return std::move(best_); }

 private:
  const int generation_;
  std::pair<int, int> key_;
  std::optional<v1::FailureCause> best_;
};

}  // namespace

std::optional<v1::FailureCause> FirstFailure(const v1::Job& job, const std::vector<Part>& parts) {
  Candidates candidates(job);
  for (const Part& part : parts) {
    bool failed = false;
    for (const v1::ObservedWorker* worker : ExitedWorkers(part)) {
      if (IsSuccess(worker->exit())) continue;
      failed = true;
      if (WasAbandoned(part) && Remoteness(worker->exit()) > 0) continue;
      candidates.Offer(part, worker->rank(), worker->rank(), worker->exit(), BoundedLines(*worker));
    }
    if (part.ended_well) continue;
    if (part.observed != nullptr && part.observed->has_failure()) {
      candidates.Offer(part, part.placement->first_rank(), -1, part.observed->failure());
    } else if (part.state == Part::State::kLost) {
      candidates.OfferLoss(part, part.loss);
    } else if (part.state == Part::State::kEnded && !failed) {
      candidates.OfferLoss(part, "it ended its part and reported no reason");
    }
  }
  return candidates.Take();
}

std::vector<std::string> LastLinesOf(const v1::FailureCause& cause,
                                     const std::vector<Part>& parts) {
  for (const Part& part : parts) {
    for (const v1::ObservedWorker* worker : ExitedWorkers(part)) {
      if (worker->rank() == cause.rank()) return BoundedLines(*worker);
    }
  }
  return {};
}

}  // namespace accel::coordinator
