// The options of the coordinator's TCP connections.
#pragma once

namespace accel::coordinator {

// Sets the options of an accepted connection. A peer whose machine is gone is detected within 15 s.
// The kernel probes it, and not gRPC, because gRPC would set a timer again with each message of
// each connection.
void SetTcpOptions(int fd);

}  // namespace accel::coordinator
