#include "agent/channel.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include "security/client_credentials.h"

namespace accel::agent {
namespace {

// Maximum size of a desired state. A desired state repeats the descriptions of the node's jobs. The
// coordinator keeps at most 512 MiB for all jobs together, so no desired state reaches the limit.
constexpr int kMaxDesiredBytes = 512 << 20;

}  // namespace

std::shared_ptr<grpc::Channel> OpenChannel(
    const std::string& coordinator, const std::optional<security::ClientIdentity>& identity) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  // Timeout of one connection attempt. It is long because the agents of a whole cluster may
  // reconnect at the same time.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 5000);
  // Short, because the link adds its own back-off.
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  // By default, gRPC looks up a name again only after 30 s. That is too long: if the coordinator
  // moves to another address, its nodes would count as lost by then.
  arguments.SetInt(GRPC_ARG_DNS_MIN_TIME_BETWEEN_RESOLUTIONS_MS, 1000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 10000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 5000);
  // Otherwise, gRPC would send no more keep-alives after two other pings without a report.
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetMaxReceiveMessageSize(kMaxDesiredBytes);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  if (identity.has_value()) {
    security::ExpectServerName(&arguments);
    return grpc::CreateCustomChannel(coordinator, security::MakeClientCredentials(*identity),
                                     arguments);
  }
  // The probe finds out, with pings, how much a network can hold. There is no network here.
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  // The connection needs no encryption, because for a Unix socket the kernel names the user at
  // the other end.
  return grpc::CreateCustomChannel(coordinator, grpc::experimental::LocalCredentials(UDS),
                                   arguments);
}

}  // namespace accel::agent
