// The log lines of gRPC. Peers can choose parts of their text and cause any number of them. The
// lines are therefore escaped, bounded and throttled before they are logged.
#pragma once

namespace accel::common {

// Sends gRPC's log lines to our log, at most one per second. Each has the number of lines that
// were left out before it. Must be called at the start of main(), because gRPC may log from its
// first call on.
void TakeGrpcLog();

}  // namespace accel::common
