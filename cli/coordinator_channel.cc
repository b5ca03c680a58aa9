#include "cli/coordinator_channel.h"

#include "security/client_credentials.h"

namespace accel::cli {
namespace {

// gRPC's own back-off between two attempts to connect. It is short because common::Backoff in
// follow_job.cc already limits how often a call is made.
constexpr int kFirstReconnectMs = 20;
constexpr int kLongestReconnectMs = 500;
// Time limit of one attempt to connect, which gRPC calls the minimum back-off. The coordinator may
// be several hundred milliseconds away, behind a tunnel, on a busy machine.
constexpr int kConnectTimeoutMs = 10'000;
// Large enough for `accel status --json` with thousands of jobs. gRPC's default of 4 MiB is not.
constexpr int kLargestMessage = 256 << 20;

}  // namespace

grpc::ChannelArguments CoordinatorChannelArguments(int keepalive_ms) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);  // A coordinator is never behind a proxy.
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  arguments.SetInt(GRPC_ARG_DNS_MIN_TIME_BETWEEN_RESOLUTIONS_MS, 1000);  // The default is 30 s.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kFirstReconnectMs);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kConnectTimeoutMs);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kLongestReconnectMs);
  // A watch lasts as long as its job. Keep-alives detect a peer that vanished without closing.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, keepalive_ms);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, keepalive_ms);
  // By default gRPC sends only two of them unless it has data to send, and a watch has none.
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetMaxReceiveMessageSize(kLargestMessage);
  security::ExpectServerName(&arguments);
  return arguments;
}

}  // namespace accel::cli
