#include "common/host_port.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace accel::common {

absl::StatusOr<HostPort> ParseHostPort(const std::string& text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", text, "\" has no port: write HOST:PORT, such as 127.0.0.1:7337"));
  }
  HostPort parsed{.host = text.substr(0, colon), .port = text.substr(colon + 1)};
  const bool bracketed =
      parsed.host.size() >= 2 && parsed.host.front() == '[' && parsed.host.back() == ']';
  if (bracketed) parsed.host = parsed.host.substr(1, parsed.host.size() - 2);
  if (parsed.host.empty())
    return absl::InvalidArgumentError(absl::StrCat("\"", text, "\" has no host before its port"));
  if (!bracketed && parsed.host.find(':') != std::string::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", text, "\": write an IPv6 address as [ADDRESS]:PORT"));
  }
  int port = -1;
  if (!absl::SimpleAtoi(parsed.port, &port) || port < 0 || port > 65535) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", parsed.port, "\" is not a port: write a number from 0 to 65535"));
  }
  return parsed;
}

}  // namespace accel::common
