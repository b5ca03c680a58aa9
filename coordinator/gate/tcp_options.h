// The options of the coordinator's TCP connections.
#pragma once

namespace accel::coordinator {

// Sets the options of a listener, from which each accepted connection has them. A peer whose
// machine is gone is detected within 15 s. The kernel probes it, and not gRPC, because gRPC would
// set a timer again with each message of each connection.
void SetTcpOptions(int listener);

}  // namespace accel::coordinator
