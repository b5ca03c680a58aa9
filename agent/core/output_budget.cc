#include "agent/core/output_budget.h"

#include <algorithm>
#include <queue>
#include <tuple>
#include <utility>

namespace accel::agent {
namespace {

constexpr size_t kNewestKept = 2;

// A stream whose middle segments may be deleted.
struct Shrinking {
  int64_t bytes = 0;
  const StreamFiles* files = nullptr;
  size_t next = 1;  // Index of the oldest segment that is left, except the first.

  bool operator<(const Shrinking& other) const { return bytes < other.bytes; }
};

void RemoveSegments(const std::vector<GenerationOutput>& outputs, OutputRemovals* removals) {
  std::priority_queue<Shrinking> streams;
  for (const GenerationOutput& output : outputs) {
    for (const StreamFiles& files : output.streams) {
      int64_t bytes = 0;
      for (const SegmentFile& file : files) bytes += file.bytes;
      if (output.live) streams.push({bytes, &files, 1});
    }
  }
  while (removals->excess > 0 && !streams.empty()) {
    Shrinking largest = streams.top();
    streams.pop();
    if (largest.next + kNewestKept >= largest.files->size()) continue;
    const SegmentFile& file = (*largest.files)[largest.next++];
    removals->segments.push_back(file.path);
    removals->bytes += file.bytes;
    removals->excess -= file.bytes;
    largest.bytes -= file.bytes;
    streams.push(largest);
  }
}

}  // namespace

OutputRemovals PlanRemovals(std::vector<GenerationOutput> outputs,
                            const std::set<common::JobId>& live, int64_t max_bytes) {
  OutputRemovals removals;
  for (const GenerationOutput& output : outputs) removals.excess += output.bytes;
  removals.excess -= max_bytes;
  // Job ids sort by the time of submission.
  const auto order = [&live](const GenerationOutput& output) {
    return std::tuple(live.contains(output.job), output.job, output.generation);
  };
  std::sort(outputs.begin(), outputs.end(),
            [&](const auto& a, const auto& b) { return order(a) < order(b); });
  for (GenerationOutput& output : outputs) {
    if (removals.excess <= 0) break;
    if (output.live) continue;
    removals.excess -= output.bytes;
    removals.bytes += output.bytes;
    removals.generations.push_back(output);
  }
  RemoveSegments(outputs, &removals);
  removals.excess = std::max<int64_t>(removals.excess, 0);
  return removals;
}

}  // namespace accel::agent
