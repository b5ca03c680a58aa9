#pragma once

#include <chrono>
#include <exception>
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "runtime/core/environment.h"

namespace accel {

// Collectives of CPU tensors. Binds the interfaces in environment.gloo_interfaces if there are any,
// else the address from which this machine reaches the store: never what the host name resolves to,
// which on many machines is a loopback address that no other machine can reach. Connects to every
// peer before it returns.
c10::intrusive_ptr<c10d::Backend> make_gloo_backend(const c10::intrusive_ptr<c10d::Store>& store,
                                                    const Environment& environment,
                                                    std::chrono::milliseconds timeout);

// Whether Gloo threw `error`: a connection broke, or a peer did not answer in time.
bool is_gloo_error(const std::exception& error);

}  // namespace accel
