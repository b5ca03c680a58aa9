// A loopback port that remains reserved for a test while the test's server stops and starts again.
// The port is bound but does not listen, so connections are refused. A server that sets
// SO_REUSEPORT, as gRPC's does, can listen on it at the same time.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/unique_fd.h"

namespace accel::common {

class ReservedPort {
 public:
  ReservedPort() : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int on = 1;
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    ACCEL_CHECK(setsockopt(socket_.get(), SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) == 0 &&
                    bind(socket_.get(), any, size) == 0 &&
                    getsockname(socket_.get(), any, &size) == 0,
                "a test can bind a loopback port");
    port_ = ntohs(address.sin_port);
  }

  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }

 private:
  const UniqueFd socket_;
  int port_ = 0;
};

}  // namespace accel::common
