// The agent's connection to the coordinator.
#pragma once

#include <grpcpp/channel.h>

#include <memory>
#include <optional>
#include <string>

#include "security/client_identity.h"

namespace accel::agent {

// Returns a channel to HOST:PORT or unix:PATH. It connects with the first call, and again by
// itself. Each channel has a connection of its own, also within one process.
// With an identity, the connection is TLS, and shows it. Without one, it is a Unix socket.
std::shared_ptr<grpc::Channel> OpenChannel(
    const std::string& coordinator,
    const std::optional<security::ClientIdentity>& identity = std::nullopt);

}  // namespace accel::agent
