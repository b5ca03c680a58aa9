// The errors of accel that a program may want to catch by their class. Other errors have
// classes of the standard library. They are std::invalid_argument for an argument out of range,
// std::logic_error for a call in the wrong state, and std::runtime_error for failures outside
// of the program.
#pragma once

#include <stdexcept>
#include <string>

#include "common/checkpoint_error.h"

namespace accel {

// A collective call failed, because a peer is gone, did not take part within the timeout, or is in
// another call. The text has the rank and the call that failed, and names the ranks that have not
// reached that call or are in another call.
class CommunicationError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The peer cannot take part any more: its process has ended, or it has left the world.
class PeerLost : public CommunicationError {
 public:
  using CommunicationError::CommunicationError;
};

// The peers are alive, but make another call or bring another amount of data.
class CallsDiffer : public CommunicationError {
 public:
  using CommunicationError::CommunicationError;
};

// Thrown with AcceleratorOptions::debug if the ranks bring different things to a collective, or
// call different ones. The text has a table of what each rank brings.
class DistributedOperationError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A worker of accel::launch() has failed, or accel launch itself has.
class LaunchError : public std::runtime_error {
 public:
  LaunchError(const std::string& text, int rank, int exit_code)
      : std::runtime_error(text), rank_(rank), exit_code_(exit_code) {}

  int rank() const { return rank_; }  // The rank that failed first, or -1 if it is not known.
  // The exit code of accel launch: that of the worker, or 128 + N for signal N.
  int exit_code() const { return exit_code_; }

 private:
  int rank_;
  int exit_code_;
};

// The ranks have trained apart, and no longer hold the same parameters.
class ParametersDiffer : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A CheckpointError that is permanent: a file is torn, corrupt or missing, so every later read
// fails as well. Not thrown for a system error, because it may be temporary, nor for a checkpoint
// of another version, because another program can read it.
class DamageError : public CheckpointError {
 public:
  using CheckpointError::CheckpointError;
};

}  // namespace accel
