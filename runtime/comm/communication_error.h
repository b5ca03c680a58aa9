#pragma once

#include <stdexcept>

namespace accel {

// A peer is gone, or did not take part within the time-out. The text says which rank saw it in
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

}  // namespace accel
