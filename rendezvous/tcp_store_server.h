// A rendezvous store: PyTorch 2.11's TCPStore protocol, for unmodified c10d::TCPStore
// and torch.distributed.TCPStore clients.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/unique_fd.h"
#include "rendezvous/server_counters.h"

namespace accel::rendezvous {

class ServerLoop;

// Serves from Start() to Stop() in a dedicated thread, so that nothing else in the process delays
// it. Stop() discards the content. The protocol has no authentication: any client that may connect
// can read and write everything (docs/decisions/0005). Clients on this host must be processes of
// this process's user or of root, if the kernel tells (PeerUsers). A client that breaks the
// protocol, exceeds a limit or finds the store full loses its connection, which does not affect
// other clients.
//
// Start() and Stop() must be called from one thread. Any thread may read the counters.
//
//   ACCEL_ASSIGN_OR_RETURN(UniqueFd socket, ListenOn("127.0.0.1"));
//   TcpStoreServer::Options options;
//   options.listen_socket = std::move(socket);
//   ACCEL_ASSIGN_OR_RETURN(auto server, TcpStoreServer::Start(std::move(options)));
class TcpStoreServer {
 public:
  struct Options {
    // A bound and listening socket, as from ListenOn(). It is made non-blocking.
    common::UniqueFd listen_socket;
    // Numeric IPv4 and IPv6 addresses that may connect. If empty, every loopback
    // address and no other.
    std::vector<std::string> allowed_peers;
    // Maximum memory for keys, values, waits and buffers of all connections together. The
    // connections themselves take less than 500 bytes each in addition.
    size_t memory_limit_bytes = size_t{256} << 20;
    // Maximum number of connections. If 0, it is 65536, or slightly less than
    // RLIMIT_NOFILE if that is lower.
    size_t max_connections = 0;
  };

  // Starts a server. InvalidArgument: listen_socket does not listen, or a peer is not a numeric
  // address. Otherwise the code of the errno of the call that failed.
  static absl::StatusOr<std::unique_ptr<TcpStoreServer>> Start(Options options);

  ~TcpStoreServer();  // Calls Stop().
  TcpStoreServer(const TcpStoreServer&) = delete;
  TcpStoreServer& operator=(const TcpStoreServer&) = delete;

  // Closes every connection and the listening socket, and waits for the thread to end. Further
  // calls have no effect.
  void Stop();

  const ServerCounters& counters() const { return counters_; }

 private:
  TcpStoreServer();
  absl::Status StartThread();

  ServerCounters counters_;
  std::unique_ptr<ServerLoop> loop_;  // Null once stopped.
  common::UniqueFd wake_;
  pthread_t thread_;
};

}  // namespace accel::rendezvous
