// The TLS of a gRPC client of a coordinator.
#pragma once

#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <memory>

#include "security/client_identity.h"

namespace accel::security {

// Returns credentials that present the identity. They accept only a server whose certificate one of
// the identity's authorities has signed. Call CheckIdentity() first, because with a damaged
// identity every call fails without a reason.
std::shared_ptr<grpc::ChannelCredentials> MakeClientCredentials(const ClientIdentity& identity);

// Makes the client verify the server by kServerName (issue.h) instead of the server's address.
void ExpectServerName(grpc::ChannelArguments* arguments);

}  // namespace accel::security
