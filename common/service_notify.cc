#include "common/service_notify.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/unique_fd.h"

namespace accel::common {
namespace {

constexpr char kVariable[] = "NOTIFY_SOCKET";

}  // namespace

ServiceNotify::ServiceNotify() {
  if (const char* address = ::getenv(kVariable)) address_ = address;
  ::unsetenv(kVariable);
}

bool ServiceNotify::Ready(absl::string_view status) const {
  sockaddr_un to = {};
  to.sun_family = AF_UNIX;
  const bool is_address = !address_.empty() && (address_[0] == '/' || address_[0] == '@');
  if (!is_address || address_.size() >= sizeof(to.sun_path)) return false;
  std::memcpy(to.sun_path, address_.data(), address_.size());
  if (address_[0] == '@') to.sun_path[0] = '\0';
  const UniqueFd fd(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return false;
  const std::string message = absl::StrCat("READY=1\nSTATUS=", status, "\n");
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address_.size());
  const ssize_t sent = sendto(fd.get(), message.data(), message.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
                              reinterpret_cast<const sockaddr*>(&to), length);
  return sent == static_cast<ssize_t>(message.size());
}

}  // namespace accel::common
