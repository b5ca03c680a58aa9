#pragma once

#include <stdexcept>

namespace accel {

// A checkpoint or a file of weights is missing, torn, corrupt or does not fit, or cannot be
// written. The text names the file and says what to do.
class CheckpointError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace accel
