// Makes a connection whose other end is gone an error of the call that uses it.
#pragma once

namespace accel::runtime {

// Keeps SIGPIPE from ending this process, unless the program has decided about the signal itself.
// Gloo and LibTorch's TCPStore write to sockets without MSG_NOSIGNAL. If a peer has died, the
// signal would kill this rank before it can name the peer. Python programs ignore the signal
// anyway. Call it before the first connection. Thread-safe.
void survive_broken_pipes();

}  // namespace accel::runtime
