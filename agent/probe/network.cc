#include "agent/probe/network.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/ip_address.h"
#include "common/loopback.h"
#include "common/status_macros.h"
#include "common/unique_fd.h"

namespace accel::agent {
namespace {

struct FreeAddrInfo {
  void operator()(addrinfo* info) const { freeaddrinfo(info); }
};
struct FreeIfAddrs {
  void operator()(ifaddrs* info) const { freeifaddrs(info); }
};

// Returns the bytes of an IPv4 or IPv6 address, or "" for other families.
std::string Bytes(const sockaddr* address) {
  if (address == nullptr) return "";
  if (address->sa_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in*>(address)->sin_addr;
    return std::string(reinterpret_cast<const char*>(&v4), sizeof(v4));
  }
  if (address->sa_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
    return std::string(reinterpret_cast<const char*>(&v6), sizeof(v6));
  }
  return "";
}

// Returns the numeric text of an IPv4 or IPv6 address. An IPv4 address that is mapped into IPv6 has
// the text of the IPv4 address.
std::string Text(const sockaddr* address) {
  const std::string bytes = Bytes(address);
  if (bytes.empty()) return "";
  char text[INET6_ADDRSTRLEN];
  inet_ntop(address->sa_family, bytes.data(), text, sizeof(text));
  const auto parsed = common::IpAddress::Parse(text);
  return parsed.has_value() ? parsed->text() : text;
}

std::string ParseNumeric(const std::string& address) {
  in_addr v4;
  if (inet_pton(AF_INET, address.c_str(), &v4) == 1) {
    return std::string(reinterpret_cast<const char*>(&v4), sizeof(v4));
  }
  in6_addr v6;
  if (inet_pton(AF_INET6, address.c_str(), &v6) == 1) {
    return std::string(reinterpret_cast<const char*>(&v6), sizeof(v6));
  }
  return "";
}

bool SameNetwork(const std::string& a, const std::string& b, const std::string& mask) {
  if (a.empty() || a.size() != b.size() || mask.size() != a.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if ((a[i] & mask[i]) != (b[i] & mask[i])) return false;
  }
  return true;
}

absl::StatusOr<std::unique_ptr<ifaddrs, FreeIfAddrs>> ListInterfaces() {
  ifaddrs* raw = nullptr;
  if (getifaddrs(&raw) != 0) {
    return absl::InternalError(absl::StrCat("cannot list network interfaces: ", strerror(errno)));
  }
  return std::unique_ptr<ifaddrs, FreeIfAddrs>(raw);
}

}  // namespace

absl::StatusOr<std::vector<InterfaceAddress>> OwnAddresses() {
  ACCEL_ASSIGN_OR_RETURN(const auto interfaces, ListInterfaces());
  std::vector<InterfaceAddress> own;
  for (const ifaddrs* each = interfaces.get(); each != nullptr; each = each->ifa_next) {
    if ((each->ifa_flags & IFF_UP) == 0) continue;
    if (std::string text = Text(each->ifa_addr); !text.empty()) {
      own.push_back({each->ifa_name, std::move(text)});
    }
  }
  return own;
}

absl::StatusOr<std::string> SourceAddressTo(const std::string& host, const std::string& port) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* raw = nullptr;
  if (const int error = getaddrinfo(host.c_str(), port.c_str(), &hints, &raw); error != 0) {
    const std::string why =
        absl::StrCat("cannot resolve ", host, ":", port, ": ", gai_strerror(error));
    return error == EAI_AGAIN ? absl::UnavailableError(why) : absl::InvalidArgumentError(why);
  }
  const std::unique_ptr<addrinfo, FreeAddrInfo> found(raw);
  int error = 0;
  for (const addrinfo* each = found.get(); each != nullptr; each = each->ai_next) {
    const common::UniqueFd fd(socket(each->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_storage own;
    socklen_t size = sizeof(own);
    // Connecting a datagram socket selects the route and sends nothing.
    if (fd.valid() && connect(fd.get(), each->ai_addr, each->ai_addrlen) == 0 &&
        getsockname(fd.get(), reinterpret_cast<sockaddr*>(&own), &size) == 0) {
      return Text(reinterpret_cast<sockaddr*>(&own));
    }
    error = errno;
  }
  return absl::UnavailableError(absl::StrCat("no route to ", host, ": ", strerror(error)));
}

absl::StatusOr<std::string> InterfaceOf(const std::string& address) {
  ACCEL_ASSIGN_OR_RETURN(const auto interfaces, ListInterfaces());
  const std::string wanted = ParseNumeric(address);
  std::string same_network;
  for (const ifaddrs* each = interfaces.get(); each != nullptr; each = each->ifa_next) {
    const std::string own = Bytes(each->ifa_addr);
    if (!own.empty() && own == wanted) return std::string(each->ifa_name);
    if (SameNetwork(wanted, own, Bytes(each->ifa_netmask))) same_network = each->ifa_name;
  }
  // 127.0.0.2 belongs to the loopback interface, although that lists only 127.0.0.1.
  if (!same_network.empty() && common::IsLoopback(address)) return same_network;
  return absl::NotFoundError(
      absl::StrCat("no network interface of this node has the address ", address));
}

}  // namespace accel::agent
