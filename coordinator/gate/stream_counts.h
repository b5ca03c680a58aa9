// Reads the counts of streams from gRPC's channelz, which counts them for each connection.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "coordinator/gate/core/reset_judge.h"

namespace accel::coordinator {

// The counts of a connection, and its peer as gRPC writes it: "ipv4:10.0.0.1:4711".
struct PeerStreams {
  StreamCounts counts;
  std::string peer;
};

// Returns the number of calls that all servers of this process have received. It is cheap, because
// gRPC makes only one small JSON text for each server.
int64_t CallsStarted();

// Returns the counts of all connections of all servers of this process.
std::vector<PeerStreams> ReadStreamCounts();

}  // namespace accel::coordinator
