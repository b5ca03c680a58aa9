// The error of files of weights. It is thrown by the folder weights/, which workers and the CLI
// use, and it is part of the public API (accel/errors.h). This is why it is here and not there.
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
