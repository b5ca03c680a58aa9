// Protects the private keys in the memory of a daemon from other programs. Daemons call this first.
#pragma once

namespace accel::security {

// Makes this process undumpable: it leaves no core file, and only root can read its memory or
// attach to it. A daemon has private keys in its memory, and a core file may be kept by the system
// or sent elsewhere. Programs that the daemon executes are dumpable again. Their resource limits
// are not changed. Async-signal-safe. Thread-safe.
void BecomeUndumpable();

}  // namespace accel::security
