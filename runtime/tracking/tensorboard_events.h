// The contents of TensorBoard's event files: records with TFRecord framing, each an `Event`
// message. Pure functions: the current time is an argument.
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

// Tells TensorBoard to discard the values of the run's earlier files from `step` on, because the
// run has resumed there.
std::string restart_record(WallTime now, std::int64_t step);

// Numbers become scalars, of which TensorBoard keeps 32 bits; strings become text. If there is no
// step, they are at step 0.
std::string values_record(WallTime now, const TrackedValues& values,
                          std::optional<std::int64_t> step);

// The configuration, as a table under `config` in the text tab and as the start of a session in the
// HPARAMS tab; and the end of that session.
std::string config_record(WallTime now, const TrackedValues& config);
std::string end_record(WallTime now);

}  // namespace accel::runtime
