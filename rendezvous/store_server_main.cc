// A store as a separate process, for tests and benchmarks. It listens on 127.0.0.1, prints its
// port, and serves until standard input ends.
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <utility>

#include "rendezvous/listen_socket.h"
#include "rendezvous/tcp_store_server.h"

int main() {
  auto socket = accel::rendezvous::ListenOn("127.0.0.1");
  if (!socket.ok()) {
    std::fprintf(stderr, "%s\n", socket.status().ToString().c_str());
    return 1;
  }
  const auto port = accel::rendezvous::PortOf(*socket);
  accel::rendezvous::TcpStoreServer::Options options;
  options.listen_socket = std::move(*socket);
  auto server = accel::rendezvous::TcpStoreServer::Start(std::move(options));
  if (!server.ok()) {
    std::fprintf(stderr, "%s\n", server.status().ToString().c_str());
    return 1;
  }
  std::printf("%d\n", int{*port});
  std::fflush(stdout);
  char byte;
  while (read(STDIN_FILENO, &byte, 1) > 0) {
  }
  return 0;
}
