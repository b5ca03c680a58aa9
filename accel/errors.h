// The errors of accel that a program may want to catch by their class. Others are the standard
// library's: std::invalid_argument for an argument or option that is out of range, std::logic_error
// for a call in the wrong place, std::runtime_error for what fails outside of the program.
#pragma once

#include <stdexcept>

namespace accel {

// A call that needs all ranks failed: a peer is gone, or did not take part within the timeout, or
// takes part in another call. The text says which rank saw it in which call, and which ranks have
// not reached that call or are in another one.
class CommunicationError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The peer will not come any more: its process has ended, or it has left the world.
class PeerLost : public CommunicationError {
 public:
  using CommunicationError::CommunicationError;
};

// The peers are there, but make another call or bring another amount.
class CallsDiffer : public CommunicationError {
 public:
  using CommunicationError::CommunicationError;
};

// With AcceleratorOptions::debug: some ranks bring something else to a collective than others, or
// call another one. The text has a table of what each rank brings.
class DistributedOperationError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The ranks have trained apart, and no longer hold the same parameters.
class ParametersDiffer : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A checkpoint or a file of weights is missing, torn, corrupt, does not fit, or cannot be written.
// The text names the file and says what to do.
class CheckpointError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A CheckpointError that every later reading will meet as well: something is torn, corrupt or
// missing. Not thrown for an error of the system, which may pass, nor for a checkpoint of another
// version, which another program can read.
class DamageError : public CheckpointError {
 public:
  using CheckpointError::CheckpointError;
};

}  // namespace accel
