// The tracker "jsonl".
#pragma once

#include <filesystem>
#include <optional>

#include "accel/tracker.h"
#include "runtime/tracking/append_file.h"

namespace accel::runtime {

// Writes a file metrics.jsonl with one JSON object per line. Each start of the run writes {"time":
// SECONDS, "config": {...}}. Each log() writes {"time": SECONDS, "step": N, "values": {...}},
// without "step" if none was given. A restarted run appends to the same file, and the last line of
// a step is the valid one.
class JsonLinesTracker : public Tracker {
 public:
  explicit JsonLinesTracker(const std::filesystem::path& folder)
      : path_(folder / "metrics.jsonl") {}

  std::string name() const override { return "jsonl"; }
  void store_init_configuration(const TrackedValues& config) override;
  void log(const TrackedValues& values, std::optional<std::int64_t> step) override;
  void finish() override { file_.reset(); }

 private:
  void append(const std::string& fields);

  const std::filesystem::path path_;
  std::optional<AppendFile> file_;
};

}  // namespace accel::runtime
