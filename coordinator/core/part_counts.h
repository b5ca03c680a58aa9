// Counts of the parts of a job's current generation. A report about one part of ten thousand
// changes only the counts. They show whether the report can lead to a step, so no other part
// needs a look.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace accel::coordinator {

// The facts about one part that decide whether its job may need a step.
struct PartFacts {
  bool started = false;        // The part runs, or has ended well.
  bool ended_well = false;     // Every rank has exited with code 0.
  bool has_processes = false;  // The part may have processes, now or later.
  // True if the part has failed, is lost, or its store socket was gone. While the job is being
  // stopped: true if the part may have failed before the job's cause.
  bool failed = false;
  bool silent = false;  // The job waits for the node, which is silent.
  bool operator==(const PartFacts&) const = default;
};

// Not thread-safe.
class PartCounts {
 public:
  // Returns true if the parts are counted. Returns false after Clear() and before the first look.
  bool known() const { return !parts_.empty(); }
  void Clear() { *this = PartCounts(); }

  // Counts all parts, by machine rank.
  void SetAll(std::vector<PartFacts> parts) {
    Clear();
    parts_ = std::move(parts);
    for (const PartFacts& part : parts_) Add(part, 1);
  }

  // Replaces one part. Returns true if it has changed.
  bool Set(int machine_rank, const PartFacts& part) {
    PartFacts& counted = parts_.at(static_cast<size_t>(machine_rank));
    if (counted == part) return false;
    Add(counted, -1);
    counted = part;
    Add(counted, 1);
    return true;
  }

  int parts() const { return static_cast<int>(parts_.size()); }
  int started() const { return started_; }
  int ended_well() const { return ended_well_; }
  int with_processes() const { return with_processes_; }
  int failed() const { return failed_; }
  int silent() const { return silent_; }

  bool operator==(const PartCounts&) const = default;

 private:
  void Add(const PartFacts& part, int count) {
    if (part.started) started_ += count;
    if (part.ended_well) ended_well_ += count;
    if (part.has_processes) with_processes_ += count;
    if (part.failed) failed_ += count;
    if (part.silent) silent_ += count;
  }

  std::vector<PartFacts> parts_;
  int started_ = 0;
  int ended_well_ = 0;
  int with_processes_ = 0;
  int failed_ = 0;
  int silent_ = 0;
};

}  // namespace accel::coordinator
