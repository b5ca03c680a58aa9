// A rendezvous store: PyTorch 2.11's TCPStore protocol, served to stock c10d::TCPStore and
// torch.distributed.TCPStore clients.
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

// Serves from a thread of its own, so that nothing else in the process delays it, from Start() to
// Stop(); the content is lost then. The protocol knows no authentication: whoever may connect may
// read and write everything. A client that breaks the protocol, passes a limit or finds the store
// full loses its connection, and nobody else notices.
//
// Start and Stop from one thread; counters from any.
//
//   ACCEL_ASSIGN_OR_RETURN(UniqueFd socket, ListenOn("127.0.0.1"));
//   TcpStoreServer::Options options;
//   options.listen_socket = std::move(socket);
//   ACCEL_ASSIGN_OR_RETURN(auto server, TcpStoreServer::Start(std::move(options)));
class TcpStoreServer {
 public:
  struct Options {
    // Bound and listening, as from ListenOn(). Made non-blocking.
    common::UniqueFd listen_socket;
    // Numeric IPv4 and IPv6 addresses that may connect; none: every loopback address, no other.
    std::vector<std::string> allowed_peers;
    // For keys, values, waits and buffers of all connections together. The connections themselves
    // come on top, with less than 500 bytes each.
    size_t memory_limit_bytes = size_t{256} << 20;
    // 0: 65536, or nearly as many as RLIMIT_NOFILE allows the process.
    size_t max_connections = 0;
  };

  // InvalidArgument: listen_socket does not listen, or a peer is not a numeric address. Otherwise
  // the code of the errno of the call that failed.
  static absl::StatusOr<std::unique_ptr<TcpStoreServer>> Start(Options options);

  ~TcpStoreServer();  // Stops.
  TcpStoreServer(const TcpStoreServer&) = delete;
  TcpStoreServer& operator=(const TcpStoreServer&) = delete;

  // Closes every connection and the listening socket. Returns when the thread has ended; again: no
  // effect.
  void Stop();

  const ServerCounters& counters() const { return counters_; }

 private:
  TcpStoreServer();
  absl::Status StartThread();

  ServerCounters counters_;
  std::unique_ptr<ServerLoop> loop_;  // Null when stopped.
  common::UniqueFd wake_;
  pthread_t thread_;
};

}  // namespace accel::rendezvous
