// A world of processes whose GPUs are fake devices (fake_device.h), for tests of code between ranks
// that needs GPUs.
#pragma once

#include <chrono>
#include <memory>

#include "runtime/comm/communicator.h"

namespace accel::runtime {

// Joins the world that the environment describes, with the first fake device. Tensors on the device
// are exchanged by a fake NCCL, which executes each call immediately over Gloo. While the device is
// stuck, a call has no effect, as if its kernel waited for a peer that never comes.
std::shared_ptr<Communicator> join_fake_gpus(
    std::chrono::milliseconds timeout = std::chrono::minutes(30));

}  // namespace accel::runtime
