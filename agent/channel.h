// The agent's connection to the coordinator.
#pragma once

#include <grpcpp/channel.h>

#include <memory>
#include <string>

namespace accel::agent {

// Returns a channel to HOST:PORT or unix:PATH. It connects with the first call, and again by
// itself. Each channel has a connection of its own, also within one process.
std::shared_ptr<grpc::Channel> OpenChannel(const std::string& coordinator);

}  // namespace accel::agent
