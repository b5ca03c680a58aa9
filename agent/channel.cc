#include "agent/channel.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include "security/client_credentials.h"

namespace accel::agent {
namespace {

// A desired state repeats the descriptions of the node's jobs. The coordinator keeps at most 512
// MiB for all jobs together, so no desired state reaches this limit.
constexpr int kMaxDesiredBytes = 512 << 20;

}  // namespace

std::shared_ptr<grpc::Channel> OpenChannel(
    const std::string& coordinator, const std::optional<security::ClientIdentity>& identity) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  // Timeout of one connection attempt. It is long because the agents of a whole cluster may
  // reconnect at the same time.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 5000);
  // The link adds its own back-off to this one.
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  // gRPC looks up a name again after 30 s by default. By then an agent whose coordinator has moved
  // to another address would be lost.
  arguments.SetInt(GRPC_ARG_DNS_MIN_TIME_BETWEEN_RESOLUTIONS_MS, 1000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 10000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 5000);
  arguments.SetMaxReceiveMessageSize(kMaxDesiredBytes);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  if (identity.has_value()) {
    security::ExpectServerName(&arguments);
    return grpc::CreateCustomChannel(coordinator, security::MakeClientCredentials(*identity),
                                     arguments);
  }
  // The kernel names both users of a Unix socket, so the connection needs no encryption.
  return grpc::CreateCustomChannel(coordinator, grpc::experimental::LocalCredentials(UDS),
                                   arguments);
}

}  // namespace accel::agent
