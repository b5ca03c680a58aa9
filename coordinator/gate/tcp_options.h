// The options of the coordinator's TCP connections.
#pragma once

namespace accel::coordinator {

// Sets the options of a listener, which each accepted connection inherits. A peer whose machine is
// gone is then detected within 15 s. The kernel probes the peer, because gRPC would set a timer
// again for each message of each connection.
void SetTcpOptions(int listener);

}  // namespace accel::coordinator
