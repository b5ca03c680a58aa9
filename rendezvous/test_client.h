// A TCP client that sends and receives raw bytes, for tests of a server.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "common/unique_fd.h"

namespace accel::rendezvous::testing {

// Not thread-safe. Every call gives up after 20 seconds.
class TestClient {
 public:
  TestClient() : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval limit = {.tv_sec = 20, .tv_usec = 0};
    setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    setsockopt(fd_.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
  }
  explicit TestClient(uint16_t port) : TestClient() { Connect(port); }

  bool Connect(uint16_t port) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return connect(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  }

  // Binds to this loopback address instead of 127.0.0.1. Must be called before Connect().
  bool BindTo(const char* address) {
    sockaddr_in from = {};
    from.sin_family = AF_INET;
    return inet_pton(AF_INET, address, &from.sin_addr) == 1 &&
           bind(fd_.get(), reinterpret_cast<sockaddr*>(&from), sizeof(from)) == 0;
  }

  // Returns false if the connection is broken.
  bool Send(absl::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t count = send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(count));
    }
    return true;
  }

  // Returns `size` bytes, or fewer if the connection ends or no more bytes arrive.
  std::string Receive(size_t size) {
    std::string bytes(size, '\0');
    size_t have = 0;
    while (have < size) {
      const ssize_t count = recv(fd_.get(), &bytes[have], size - have, 0);
      if (count <= 0) break;
      have += static_cast<size_t>(count);
    }
    bytes.resize(have);
    return bytes;
  }

  // Returns true if the server closes the connection without sending another byte.
  bool SeesEnd() {
    char byte;
    const ssize_t count = recv(fd_.get(), &byte, 1, 0);
    return count == 0 || (count < 0 && errno == ECONNRESET);
  }

  // Shuts down the sending direction.
  void EndSending() { shutdown(fd_.get(), SHUT_WR); }
  void Close() { fd_.reset(); }
  int fd() const { return fd_.get(); }

 private:
  common::UniqueFd fd_;
};

}  // namespace accel::rendezvous::testing
