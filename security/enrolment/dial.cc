#include "security/enrolment/dial.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "common/clock.h"
#include "common/status_macros.h"
#include "security/enrolment/tls_stream.h"

namespace accel::security {
namespace {

absl::StatusOr<common::UniqueFd> Dial(const addrinfo& address, absl::Time deadline) {
  common::UniqueFd fd(socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  int error = fd.valid() ? 0 : errno;
  if (fd.valid() && connect(fd.get(), address.ai_addr, address.ai_addrlen) != 0) {
    if (errno != EINPROGRESS) return absl::UnavailableError(std::strerror(errno));
    ACCEL_RETURN_IF_ERROR(AwaitSocket(fd.get(), POLLOUT, deadline));
    socklen_t size = sizeof error;
    getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  }
  if (error != 0) return absl::UnavailableError(std::strerror(error));
  return fd;
}

}  // namespace

absl::StatusOr<common::UniqueFd> DialFirst(const addrinfo& addresses, absl::Time deadline) {
  int left = 0;
  for (const addrinfo* each = &addresses; each != nullptr; each = each->ai_next) ++left;
  for (const addrinfo* each = &addresses;; each = each->ai_next, --left) {
    const absl::Time now = common::SteadyClock()->Now();
    absl::StatusOr<common::UniqueFd> fd = Dial(*each, now + (deadline - now) / left);
    if (fd.ok() || left == 1) return fd;
  }
}

}  // namespace accel::security
