#include "coordinator/core/first_failure.h"

#include <signal.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "coordinator/core/exit_status.h"

namespace accel::coordinator {
namespace {

constexpr int kStopRemoteness = 2;
constexpr int kLossRemoteness = 3;

// Returns how many steps a failure usually is from the first one, which has 0. The header
// gives the reasons.
int Remoteness(const v1::ExitRecord& exit) {
  switch (exit.kind()) {
    case v1::ExitRecord::SHIM_DIED:
      return 1;
    case v1::ExitRecord::SIGNALLED:
      return !exit.out_of_memory() && (exit.signal() == SIGKILL || exit.signal() == SIGTERM)
                 ? kStopRemoteness
                 : 0;
    case v1::ExitRecord::NODE_LOST:
    case v1::ExitRecord::PREEMPTED:
      return kLossRemoteness;
    default:
      return 0;
  }
}

// Cuts a text to kMaxLastLineBytes between characters, because a protobuf string must
// be valid UTF-8.
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
// coordinator. The signals that ended the workers are then no failures of their own.
bool WasAbandoned(const Part& part) {
  return part.observed != nullptr && part.observed->failure().kind() == v1::ExitRecord::NODE_LOST;
}

// Returns when the worker of the part ended. The range never begins before the generation was
// placed or ends after the report arrived, because a node could claim any time.
TimeRange WhenEnded(const JobEntry& entry, const Part& part, const v1::ObservedWorker& worker) {
  const absl::Time arrived = std::max(part.node->last_heard, entry.started);
  if (worker.ended_us() <= 0) return {entry.started, arrived};
  const TimeRange shown = part.node->clock.When(absl::FromUnixMicros(worker.ended_us()), arrived);
  return {std::clamp(shown.earliest, entry.started, arrived),
          std::clamp(shown.latest, entry.started, arrived)};
}

// Returns when the node of the part was lost: at the earliest at its last report.
TimeRange WhenLost(const JobEntry& entry, const Part& part, absl::Time now) {
  const absl::Time heard = part.node == nullptr ? absl::InfinitePast() : part.node->last_heard;
  return {std::max(heard, entry.started), std::max(now, entry.started)};
}

struct Candidate {
  const Part* part = nullptr;
  const v1::ObservedWorker* worker = nullptr;  // Null if the part failed as a whole.
  const v1::ExitRecord* exit = nullptr;        // Null if the part is lost.
  std::string loss;                            // Why the part is lost.
  TimeRange when;

  int rank() const { return worker == nullptr ? -1 : worker->rank(); }
  int order() const { return worker == nullptr ? part->placement->first_rank() : worker->rank(); }
  int remoteness() const { return exit == nullptr ? kLossRemoteness : Remoteness(*exit); }
};

std::vector<Candidate> Candidates(const JobEntry& entry, absl::Span<const Part> parts,
                                  absl::Time now) {
  std::vector<Candidate> found;
  for (const Part& part : parts) {
    bool failed = false;
    for (const v1::ObservedWorker* worker : ExitedWorkers(part)) {
      if (IsSuccess(worker->exit())) continue;
      failed = true;
      if (WasAbandoned(part) && Remoteness(worker->exit()) > 0) continue;
      found.push_back({&part, worker, &worker->exit(), "", WhenEnded(entry, part, *worker)});
    }
    if (part.ended_well) continue;
    if (part.observed != nullptr && part.observed->has_failure()) {
      const absl::Time latest = std::max(now, entry.started);
      found.push_back({&part, nullptr, &part.observed->failure(), "", {entry.started, latest}});
    } else if (part.state == Part::State::kLost) {
      found.push_back({&part, nullptr, nullptr, part.loss, WhenLost(entry, part, now)});
    } else if (part.state == Part::State::kEnded && !failed && entry.job.phase() != v1::STOPPING) {
      found.push_back({&part, nullptr, nullptr, "it ended its part and reported no reason",
                       WhenLost(entry, part, now)});
    }
  }
  return found;
}

// Returns the candidate that most likely came first, by the rules in the header. Returns nullopt if
// there are no candidates.
std::optional<FoundFailure> Choose(const JobEntry& entry, std::vector<Candidate> candidates) {
  if (candidates.empty()) return std::nullopt;
  absl::Time first = absl::InfiniteFuture();
  for (const Candidate& each : candidates) first = std::min(first, each.when.latest);
  std::erase_if(candidates, [first](const Candidate& each) { return each.when.earliest > first; });
  const auto key = [](const Candidate& each) {
    return std::make_tuple(each.remoteness(), each.when.latest, each.order());
  };
  const Candidate& origin =
      *std::min_element(candidates.begin(), candidates.end(),
                        [&key](const Candidate& a, const Candidate& b) { return key(a) < key(b); });
  FoundFailure found;
  found.when = origin.when;
  found.cause.set_generation(CurrentGeneration(entry.job)->generation());
  found.cause.set_rank(origin.rank());
  found.cause.set_node_name(origin.part->placement->node_name());
  v1::ExitRecord& exit = *found.cause.mutable_exit();
  if (origin.exit != nullptr) {
    exit = *origin.exit;
  } else {
    exit.set_kind(origin.part->preempted ? v1::ExitRecord::PREEMPTED : v1::ExitRecord::NODE_LOST);
    exit.set_message(origin.loss);
  }
  exit.set_message(Bounded(exit.message()));
  if (origin.worker == nullptr) return found;
  for (std::string& line : BoundedLines(*origin.worker)) {
    found.cause.add_last_lines(std::move(line));
  }
  return found;
}

bool IsCause(const JobEntry& entry, const Candidate& candidate) {
  return candidate.rank() == entry.job.cause().rank() &&
         candidate.part->placement->node_name() == entry.job.cause().node_name();
}

// Returns true if the cause is a rank that may have failed, or may hang, because another node was
// gone.
bool MayFollowFromLoss(const v1::FailureCause& cause) {
  const v1::ExitRecord& exit = cause.exit();
  return cause.rank() >= 0 && !exit.out_of_memory() &&
         (exit.kind() == v1::ExitRecord::EXITED || exit.kind() == v1::ExitRecord::SIGNALLED ||
          exit.kind() == v1::ExitRecord::HUNG);
}

}  // namespace

std::optional<FoundFailure> FirstFailure(const JobEntry& entry, absl::Span<const Part> parts,
                                         absl::Time now) {
  return Choose(entry, Candidates(entry, parts, now));
}

std::optional<FoundFailure> EarlierFailure(const JobEntry& entry, absl::Span<const Part> parts,
                                           absl::Time now) {
  const v1::FailureCause& cause = entry.job.cause();
  if (cause.exit().kind() == v1::ExitRecord::TIMED_OUT) return std::nullopt;
  std::vector<Candidate> candidates = Candidates(entry, parts, now);
  std::erase_if(candidates, [&entry, &cause](const Candidate& each) {
    if (IsCause(entry, each)) return true;
    if (each.when.latest < entry.failed.earliest) return false;
    return each.exit != nullptr || !MayFollowFromLoss(cause) ||
           each.when.earliest > entry.failed.latest ||
           each.part->placement->node_name() == cause.node_name();
  });
  return Choose(entry, std::move(candidates));
}

v1::LaterFailures CountLater(const JobEntry& entry, absl::Span<const Part> parts) {
  v1::LaterFailures later;
  absl::Time last = entry.failed.latest;
  // A map, because a search in the list would take long if a malicious node reports a different
  // exit code for each of its ranks.
  std::map<std::tuple<int, int, int, bool>, v1::FailureKind*> counted;
  for (const Candidate& each : Candidates(entry, parts, absl::InfiniteFuture())) {
    if (each.worker == nullptr || IsCause(entry, each)) continue;
    if (each.remoteness() == kStopRemoteness) continue;
    later.set_ranks(later.ranks() + 1);
    last = std::max(last, each.worker->ended_us() > 0 ? each.when.latest : absl::InfiniteFuture());
    const v1::ExitRecord& exit = *each.exit;
    v1::FailureKind*& kind =
        counted[{exit.kind(), exit.code(), exit.signal(), exit.out_of_memory()}];
    if (kind == nullptr) {
      kind = later.add_kinds();
      *kind->mutable_exit() = exit;
      kind->mutable_exit()->clear_message();
      kind->mutable_exit()->clear_core_dumped();
    }
    kind->set_ranks(kind->ranks() + 1);
  }
  auto& kinds = *later.mutable_kinds();
  std::stable_sort(kinds.begin(), kinds.end(),
                   [](const auto& a, const auto& b) { return a.ranks() > b.ranks(); });
  if (kinds.size() > kMaxLaterKinds)
    kinds.DeleteSubrange(kMaxLaterKinds, kinds.size() - kMaxLaterKinds);
  if (later.ranks() > 0 && last != absl::InfiniteFuture()) {
    const absl::Duration within = absl::Ceil(last - entry.failed.latest, absl::Milliseconds(1));
    later.set_within_ms(std::max<int64_t>(absl::ToInt64Milliseconds(within), 1));
  }
  return later;
}

std::vector<std::string> LastLinesOf(const v1::FailureCause& cause, absl::Span<const Part> parts) {
  for (const Part& part : parts) {
    for (const v1::ObservedWorker* worker : ExitedWorkers(part)) {
      if (worker->rank() == cause.rank()) return BoundedLines(*worker);
    }
  }
  return {};
}

}  // namespace accel::coordinator
