// A whole coordinator: store, loop, and the gRPC server in front of them.
//
//   ServerOptions options;
//   options.listen = "127.0.0.1:0";
//   options.token = "...";
//   ASSERT_OK_AND_ASSIGN(auto server, Server::Start(options));
//   Connect(server->address());
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "coordinator/coordinator.h"
#include "coordinator/core/cluster_state.h"
#include "coordinator/store/job_store.h"

namespace accel::coordinator {

struct ServerOptions {
  std::string listen = "127.0.0.1:7337";  // HOST:PORT; port 0 picks one.
  std::string token;                      // Of every call; not empty.
  Limits limits = {};
  common::Clock* clock = common::SteadyClock();  // Outlives the server.
  // Null: jobs are kept in memory.
  std::unique_ptr<JobStore> store;
};

// Thread-safe.
class Server {
 public:
  // INVALID_ARGUMENT, FAILED_PRECONDITION: the address. UNAVAILABLE: cannot listen there.
  // DATA_LOSS: the store.
  static absl::StatusOr<std::unique_ptr<Server>> Start(ServerOptions options);

  // Stops: calls under way end with UNAVAILABLE.
  virtual ~Server() = default;

  // HOST:PORT with the port that it really has.
  virtual std::string address() const = 0;

  // For who runs in the same process.
  virtual Coordinator* coordinator() = 0;
};

}  // namespace accel::coordinator
