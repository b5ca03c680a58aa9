// What gRPC logs. Peers choose some of its text and cause any number of lines, so it is escaped,
// bounded and throttled here, and does not go to standard error as it is.
#pragma once

namespace accel::common {

// Sends gRPC's log lines to our log, at most one per second, with the number of those that were
// left out. Call it first in main(), because gRPC may log from its first call on.
void TakeGrpcLog();

}  // namespace accel::common
