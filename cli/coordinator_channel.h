#pragma once

#include <grpcpp/support/channel_arguments.h>

namespace accel::cli {

// Returns how a command connects to the coordinator. A call that waits fails with UNAVAILABLE if
// the coordinator has not been heard of for twice `keepalive_ms`.
grpc::ChannelArguments CoordinatorChannelArguments(int keepalive_ms = 20'000);

}  // namespace accel::cli
