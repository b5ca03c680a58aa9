// A complete coordinator: the store, the loop, and the gRPC server in front of them.
//
//   ServerOptions options;
//   options.socket = "/run/accel/coordinator";
//   ASSERT_OK_AND_ASSIGN(auto server, Server::Start(options));
//   Connect("unix:/run/accel/coordinator");
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "coordinator/coordinator.h"
#include "coordinator/core/cluster_state.h"
#include "coordinator/store/store.h"

namespace accel::coordinator {

struct ServerOptions {
  // Absolute path of the Unix socket. If empty, there is none.
  std::string socket;
  std::string listen;  // HOST:PORT; port 0 picks one. If empty, there is no TCP address.
  std::string
      token;  // The token that every call over TCP must carry. Not empty if `listen` is not.
  Limits limits = {};
  common::Clock* clock = common::SteadyClock();  // Must outlive the server.
  // If null, everything is kept in memory.
  std::unique_ptr<Store> store;
  std::string cluster_id = "a-cluster";  // For a store without rows: see core/recover.h.
};

// Thread-safe.
class Server {
 public:
  // Starts a server. INVALID_ARGUMENT, FAILED_PRECONDITION: the address is invalid or not a
  // loopback address, or the socket is in use, or its folder is not safe. UNAVAILABLE: cannot
  // listen there. DATA_LOSS: the store cannot be read.
  static absl::StatusOr<std::unique_ptr<Server>> Start(ServerOptions options);

  // Stops the server. Pending calls end with UNAVAILABLE.
  virtual ~Server() = default;

  // Returns HOST:PORT with the port in use, also if port 0 was asked for. Empty without TCP.
  virtual std::string address() const = 0;

  // Returns the coordinator for callers in the same process. The server owns it.
  virtual Coordinator* coordinator() = 0;
};

}  // namespace accel::coordinator
