// The errors of collectives.
#pragma once

#include <stdexcept>

namespace accel {

// A collective failed because a peer has gone, did not take part within the timeout, or is in
// another call. The text names the rank that noticed it, its call, and the ranks that have not
// reached that call or are in another one.
class CommunicationError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A peer cannot take part any more: its process has ended, or it has left the world.
class PeerLost : public CommunicationError {
 public:
  using CommunicationError::CommunicationError;
};

// The peers are alive, but make another call, or send another number of bytes.
class CallsDiffer : public CommunicationError {
 public:
  using CommunicationError::CommunicationError;
};

}  // namespace accel
