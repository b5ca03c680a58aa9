#include "common/loopback.h"

#include <arpa/inet.h>

#include "absl/strings/str_cat.h"

namespace accel::common {

bool IsLoopback(const std::string& host) {
  in_addr v4;
  in6_addr v6;
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  if (inet_pton(AF_INET6, host.c_str(), &v6) == 1) return IN6_IS_ADDR_LOOPBACK(&v6);
  return host == "localhost";
}

absl::Status CheckLoopback(const std::string& host) {
  if (IsLoopback(host)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("will not use ", host, ", which is beyond loopback",
                   ": this version does not encrypt its traffic and therefore serves this machine "
                   "only; use 127.0.0.1"));
}

}  // namespace accel::common
