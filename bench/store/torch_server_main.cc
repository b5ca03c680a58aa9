// Runs PyTorch's own server (libuv) in a process. Like rendezvous:store_server, it prints its port
// and serves until its standard input is closed.
#include <unistd.h>

#include <cstdio>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

int main() {
  c10d::TCPStoreOptions options;
  options.port = 0;
  options.isServer = true;
  options.waitWorkers = false;
  options.useLibUV = true;
  const auto store = c10::make_intrusive<c10d::TCPStore>("127.0.0.1", options);
  std::printf("%d\n", int{store->getPort()});
  std::fflush(stdout);
  char byte;
  while (read(STDIN_FILENO, &byte, 1) > 0) {
  }
  return 0;
}
