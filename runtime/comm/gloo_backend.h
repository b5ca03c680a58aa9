// Collectives over sockets.
#pragma once

#include <chrono>
#include <exception>
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "runtime/core/environment.h"

namespace accel::runtime {

// Makes Gloo's backend for collectives of CPU tensors. Binds the interfaces in
// environment.gloo_interfaces. If that is empty, binds the address from which this machine reaches
// the store. Never binds the address of the host name, because on many machines that is a loopback
// address, which no other machine can reach. Connects to every peer before it returns. Throws what
// the store or Gloo throws, and std::runtime_error if the store's host cannot be reached.
c10::intrusive_ptr<c10d::Backend> make_gloo_backend(const c10::intrusive_ptr<c10d::Store>& store,
                                                    const Environment& environment,
                                                    std::chrono::milliseconds timeout);

// Returns true if Gloo threw `error`: a connection broke, or a peer did not answer in time.
bool is_gloo_error(const std::exception& error);

}  // namespace accel::runtime
