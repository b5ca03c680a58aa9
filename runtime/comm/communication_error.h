#pragma once

#include <stdexcept>

namespace accel {

// A call that needs all ranks came to nothing: a peer is gone, or did not take part within the
// time-out, or takes part in another call. The text says which rank saw it in
// which call, and which ranks have not reached that call or are in another one.
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

}  // namespace accel
