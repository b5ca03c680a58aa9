// The TLS of a gRPC client of a coordinator.
#pragma once

#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <memory>

#include "security/client_identity.h"

namespace accel::security {

// Returns credentials that show the identity, and accept only a server that one of its authorities
// has signed. Call CheckIdentity() first: with damaged files, every call fails without a reason.
std::shared_ptr<grpc::ChannelCredentials> MakeClientCredentials(const ClientIdentity& identity);

// Lets the client verify the server by kServerName (issue.h) instead of the address that it dials.
void ExpectServerName(grpc::ChannelArguments* arguments);

}  // namespace accel::security
