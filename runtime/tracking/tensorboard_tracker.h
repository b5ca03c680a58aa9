// The tracker "tensorboard".
#pragma once

#include <filesystem>
#include <optional>

#include "accel/tracker.h"
#include "runtime/tracking/append_file.h"

namespace accel::runtime {

// Writes event files for TensorBoard. Each process writes a new file,
// events.out.tfevents.TIME.HOST.PID.0, which TensorBoard reads after the existing ones. When a
// restarted run logs its first step, TensorBoard discards the values of earlier files from that
// step on (docs/decisions/0020).
class TensorBoardTracker : public Tracker {
 public:
  explicit TensorBoardTracker(std::filesystem::path folder) : folder_(std::move(folder)) {}

  std::string name() const override { return "tensorboard"; }
  void store_init_configuration(const TrackedValues& config) override;
  void log(const TrackedValues& values, std::optional<std::int64_t> step) override;
  void finish() override;

 private:
  AppendFile& file();

  const std::filesystem::path folder_;
  std::optional<AppendFile> file_;
  bool has_begun_ = false;  // True once a step was logged.
};

}  // namespace accel::runtime
