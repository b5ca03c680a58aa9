#include "agent/store_sockets.h"

#include <algorithm>
#include <utility>

#include "absl/random/random.h"
#include "absl/strings/str_cat.h"
#include "common/log.h"
#include "common/status_macros.h"
#include "rendezvous/listen_socket.h"
#include "rendezvous/peer_users.h"

namespace accel::agent {
namespace {

constexpr char kLoopback[] = "127.0.0.1";
// Maximum number of ports that one search tries. It is bounded, because each try takes a
// microsecond of the agent's loop. The next search begins at another port.
constexpr int kMaxTries = 256;

// The agent warns, and not the shims that serve the stores, because shims have no log.
void WarnIfUsersAreUnknown(const common::UniqueFd& listen_socket) {
  const absl::Status why = rendezvous::PeerUsers::Make(listen_socket.get()).status();
  if (why.ok()) return;
  common::LogWarning(
      "all users of this host can reach the rendezvous stores of jobs, because the "
      "kernel does not say whose a connection is",
      {{"why", why.ToString()}});
}

}  // namespace

StoreSockets::StoreSockets(const std::string& address, size_t size, common::PortRange ports)
    : addresses_({address}),
      size_(size),
      ports_(ports),
      next_id_(absl::Uniform<uint64_t>(absl::BitGen(), 1, uint64_t{1} << 62)) {
  if (address != kLoopback) addresses_.emplace_back(kLoopback);
  Refill();
  if (!sockets_.empty()) WarnIfUsersAreUnknown(sockets_.begin()->second.fd);
}

std::vector<v1::StoreSocket> StoreSockets::List() const {
  std::vector<v1::StoreSocket> list;
  for (const auto& [id, socket] : sockets_) {
    v1::StoreSocket& each = list.emplace_back();
    each.set_id(id);
    each.set_address(socket.address);
    each.set_port(socket.port);
  }
  return list;
}

common::UniqueFd StoreSockets::Take(uint64_t id) {
  const auto found = sockets_.find(id);
  if (found == sockets_.end()) return common::UniqueFd();
  common::UniqueFd fd = std::move(found->second.fd);
  sockets_.erase(found);
  changed_ = true;
  return fd;
}

size_t StoreSockets::CountOn(const std::string& address) const {
  return static_cast<size_t>(
      std::count_if(sockets_.begin(), sockets_.end(),
                    [&address](const auto& each) { return each.second.address == address; }));
}

// The search starts at a random port, because several agents may share a range.
absl::StatusOr<common::UniqueFd> StoreSockets::Listen(const std::string& address) const {
  if (ports_.is_any()) return rendezvous::ListenOn(address);
  absl::BitGen random;
  const int start = absl::Uniform<int>(random, 0, ports_.size());
  const int tries = std::min(ports_.size(), kMaxTries);
  for (int i = 0; i < tries; ++i) {
    const int port = ports_.first + (start + i) % ports_.size();
    auto fd = rendezvous::ListenOn(address, static_cast<uint16_t>(port));
    if (fd.ok() || !absl::IsAlreadyExists(fd.status())) return fd;
  }
  return absl::ResourceExhaustedError(
      absl::StrCat(tries == ports_.size() ? "no free port" : "no free port found", " in ",
                   ports_.text(), "; wait for jobs to end, or widen --port_range"));
}

absl::Status StoreSockets::Add(const std::string& address) {
  ACCEL_ASSIGN_OR_RETURN(common::UniqueFd fd, Listen(address));
  ACCEL_ASSIGN_OR_RETURN(const uint16_t port, rendezvous::PortOf(fd));
  sockets_[next_id_++] = {std::move(fd), address, port};
  changed_ = true;
  return absl::OkStatus();
}

bool StoreSockets::Refill() {
  std::string missing;
  std::string failed;
  for (const std::string& address : addresses_) {
    absl::Status added;
    while (added.ok() && CountOn(address) < size_) added = Add(address);
    if (added.ok()) continue;
    failed = absl::StrCat(added.message(), ", for a rendezvous store on ", address);
    if (CountOn(address) == 0) missing = failed;
  }
  if (!failed.empty() && failed != logged_) {
    common::LogError("could not open a spare socket, retrying", {{"why", failed}});
  }
  logged_ = std::move(failed);
  if (missing != missing_) changed_ = true;
  missing_ = std::move(missing);
  return std::exchange(changed_, false);
}

}  // namespace accel::agent
