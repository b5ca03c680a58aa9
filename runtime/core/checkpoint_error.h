#pragma once

#include <stdexcept>

namespace accel {

// A checkpoint or a file of weights is missing, torn, corrupt or does not fit, or cannot be
// written. The text names the file and says what to do.
class CheckpointError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Of these, that something is torn, corrupt or not there, and will be whenever it is read. No error
// of the system, which may pass, and no other version, which another program reads.
class DamageError : public CheckpointError {
 public:
  using CheckpointError::CheckpointError;
};

}  // namespace accel
