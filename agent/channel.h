// The agent's connection to the coordinator.
#pragma once

#include <grpcpp/channel.h>

#include <memory>
#include <optional>
#include <string>

#include "security/client_identity.h"

namespace accel::agent {

// Returns a channel to HOST:PORT or unix:PATH. The channel connects with the first call, and
// reconnects by itself. Each channel has its own connection, even within one process. With an
// identity, the connection uses TLS and presents that identity. Without an identity, `coordinator`
// must be a Unix socket.
std::shared_ptr<grpc::Channel> OpenChannel(
    const std::string& coordinator,
    const std::optional<security::ClientIdentity>& identity = std::nullopt);

}  // namespace accel::agent
