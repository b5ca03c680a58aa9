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

// Returns the first record of each file.
std::string version_record(WallTime now);

// Returns a record that makes TensorBoard discard the values of the run's earlier files from `step`
// on, because the run has resumed there.
std::string restart_record(WallTime now, std::int64_t step);

// Returns the values of one step, which is 0 if `step` is not set. Numbers become scalars, of which
// TensorBoard keeps 32 bits. Strings become text.
std::string values_record(WallTime now, const TrackedValues& values,
                          std::optional<std::int64_t> step);

// config_record() returns the configuration, as a table under `config` in the text tab and as the
// start of a session in the HPARAMS tab. end_record() returns the end of that session.
std::string config_record(WallTime now, const TrackedValues& config);
std::string end_record(WallTime now);

}  // namespace accel::runtime
