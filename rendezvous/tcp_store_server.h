// A rendezvous store. It speaks PyTorch 2.11's TCPStore protocol, for unmodified clients of
// c10d::TCPStore and torch.distributed.TCPStore.
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

// Serves from Start() to Stop() on a dedicated thread, so that nothing else in the process delays
// it. Stop() discards the content. The protocol has no authentication: any client that may connect
// can read and write everything (docs/decisions/0005). Clients on this host must be processes of
// this process's user or of root. If the kernel cannot tell (PeerUsers::Make() fails), all users
// are admitted. A client that breaks the protocol, exceeds a limit or finds the store full loses
// its connection, which does not affect other clients.
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
    // A bound and listening socket, such as ListenOn() returns. Start() makes it non-blocking.
    common::UniqueFd listen_socket;
    // Numeric IPv4 and IPv6 addresses from which clients may connect. If empty, all loopback
    // addresses and no others.
    std::vector<std::string> allowed_peers;
    // Maximum memory for keys, values, waits and buffers of all connections together. In addition,
    // each connection itself takes less than 500 bytes.
    size_t memory_limit_bytes = size_t{256} << 20;
    // Maximum number of connections. If 0, it is 65536, or RLIMIT_NOFILE less 128 if that is lower,
    // but at least half of RLIMIT_NOFILE.
    size_t max_connections = 0;
  };

  // Starts a server. InvalidArgument: listen_socket does not listen, or a peer is not a numeric
  // address. Other errors have the code of the errno of the call that failed.
  static absl::StatusOr<std::unique_ptr<TcpStoreServer>> Start(Options options);

  ~TcpStoreServer();  // Calls Stop().
  TcpStoreServer(const TcpStoreServer&) = delete;
  TcpStoreServer& operator=(const TcpStoreServer&) = delete;

  // Closes every connection and the listening socket, and waits for the thread to end. A second
  // call has no effect.
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
