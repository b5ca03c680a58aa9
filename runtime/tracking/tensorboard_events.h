// The contents of TensorBoard's event files: records of TFRecord framing, each an `Event` message.
// Pure: times are values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "accel/tracker.h"

namespace accel::runtime {

// Seconds since 1970.
using WallTime = double;

// The first record of each file.
std::string version_record(WallTime now);

// What is in the run's earlier files from `step` on is to be forgotten: the run went on from there.
std::string restart_record(WallTime now, std::int64_t step);

// Numbers as scalars (TensorBoard keeps 32 bits of them), texts as text. Without a step they are at
// step 0.
std::string values_record(WallTime now, const TrackedValues& values,
                          std::optional<std::int64_t> step);

// The configuration, as a table under `config` in the text tab and as a session of the HPARAMS tab;
// and that session's end.
std::string config_record(WallTime now, const TrackedValues& config);
std::string end_record(WallTime now);

}  // namespace accel::runtime
