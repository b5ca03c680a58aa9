// The exception about files of weights. It is part of the public API (accel/errors.h). The folder
// weights/ throws it too, and may not include the public API, so it is defined in common/.
#pragma once

#include <stdexcept>

namespace accel {

// A checkpoint or a file of weights is missing, torn, corrupt, does not fit, or cannot be written.
// The text names the file and says what to do.
class CheckpointError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace accel
