#include "agent/store_sockets.h"

#include <utility>

#include "absl/random/random.h"
#include "common/log.h"
#include "rendezvous/listen_socket.h"

namespace accel::agent {

StoreSockets::StoreSockets(std::string address, size_t size)
    : address_(std::move(address)),
      size_(size),
      next_id_(absl::Uniform<uint64_t>(absl::BitGen(), 1, uint64_t{1} << 62)) {
  Refill();
}

std::vector<v1::StoreSocket> StoreSockets::List() const {
  std::vector<v1::StoreSocket> list;
  for (const auto& [id, socket] : sockets_) {
    v1::StoreSocket& each = list.emplace_back();
    each.set_id(id);
    each.set_address(address_);
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

bool StoreSockets::Refill() {
  while (sockets_.size() < size_) {
    absl::StatusOr<common::UniqueFd> fd = rendezvous::ListenOn(address_);
    const absl::StatusOr<uint16_t> port = fd.ok() ? rendezvous::PortOf(*fd) : fd.status();
    if (!port.ok()) {
      common::LogError("could not open a socket for a rendezvous store, retrying",
                       {{"why", port.status().ToString()}});
      break;
    }
    sockets_[next_id_++] = {*std::move(fd), *port};
    changed_ = true;
  }
  return std::exchange(changed_, false);
}

}  // namespace accel::agent
