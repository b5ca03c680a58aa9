#include "shim/tcp_rendezvous_store.h"

#include <utility>

#include "common/status_macros.h"
#include "rendezvous/tcp_store_server.h"

namespace accel::shim {
namespace {

class TcpRendezvousStore final : public RendezvousStore {
 public:
  explicit TcpRendezvousStore(std::unique_ptr<rendezvous::TcpStoreServer> server)
      : server_(std::move(server)) {}

  uint64_t connections() const override {
    // `closed` is read first. A connection counts as accepted before it counts as closed, so the
    // difference is never negative.
    const uint64_t closed = server_->counters().closed;
    return server_->counters().accepted - closed;
  }
  uint64_t refused_peers() const override { return server_->counters().refused_peers; }

 private:
  const std::unique_ptr<rendezvous::TcpStoreServer> server_;
};

}  // namespace

StoreStarter TcpRendezvousStores() {
  return [](common::UniqueFd listen_socket, const std::vector<std::string>& peers,
            size_t max_connections) -> absl::StatusOr<std::unique_ptr<RendezvousStore>> {
    rendezvous::TcpStoreServer::Options options;
    options.listen_socket = std::move(listen_socket);
    options.allowed_peers = peers;
    options.max_connections = max_connections;
    ACCEL_ASSIGN_OR_RETURN(std::unique_ptr<rendezvous::TcpStoreServer> server,
                           rendezvous::TcpStoreServer::Start(std::move(options)));
    return std::make_unique<TcpRendezvousStore>(std::move(server));
  };
}

}  // namespace accel::shim
