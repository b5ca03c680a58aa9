// A complete coordinator: the store, the loop, and the gRPC server in front of them.
//
//   ServerOptions options;
//   options.socket = "/run/accel/coordinator";
//   ASSERT_OK_AND_ASSIGN(auto server, Server::Start(std::move(options)));
//   Connect("unix:/run/accel/coordinator");
#pragma once

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_context.h>

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/unique_fd.h"
#include "coordinator/access/caller.h"
#include "coordinator/access/credential_table.h"
#include "coordinator/access/entrance.h"
#include "coordinator/calls/handler.h"
#include "coordinator/coordinator.h"
#include "coordinator/core/cluster_state.h"
#include "coordinator/store/store.h"

namespace accel::coordinator {

struct ServerOptions {
  // Absolute path of the Unix socket. If empty, there is none.
  std::string socket;
  std::string owner = "owner";  // The name of the user who runs the coordinator.
  // Identifies the caller of a method. If null,
  // IdentifyCaller does (coordinator/access/identify_caller.h).
  std::function<absl::StatusOr<Caller>(const grpc::ServerContextBase&)> identify;
  // Path of the audit log (coordinator/access/audit_log.h). If empty, there is none.
  std::string audit_log;
  std::string listen;  // HOST:PORT; port 0 picks one. If empty, there is no TCP address.
  // The TLS of connections over TCP. It must ask callers for a certificate (docs/decisions/0075).
  // Required if `listen` is set.
  std::shared_ptr<grpc::ServerCredentials> tcp_credentials;
  // Decides about callers with a certificate. If null, no certificate is valid. Must
  // outlive the server.
  const CredentialTable* credentials = nullptr;
  // Receives connections over TCP whose next bytes are "ACCELEN1": see Gate::Options. May be null.
  std::function<void(common::UniqueFd)> on_enrolment;
  // Called with changes of the access state: see CoordinatorLoop::Options::on_access. May be null.
  std::function<void(const AccessState& state, const AccessChanges& changes)> on_access;
  // Calls `done` with OK if a job of the user may name this uploaded tree, or with the error for
  // the user. Must not block, so it may call `done` later, on a thread of its own. If null, no job
  // may name a tree.
  std::function<void(const std::string& user, const std::string& tree,
                     std::function<void(absl::Status)> done)>
      check_upload;
  // Handlers of further services, which must outlive the server.
  Handlers handlers;
  Limits limits = {};
  common::Clock* clock = common::SteadyClock();  // Must outlive the server.
  // If null, everything is kept in memory.
  std::unique_ptr<Store> store;
  std::string cluster_id = "a-cluster";  // For a store without rows: see core/recover.h.
};

// Thread-safe.
class Server {
 public:
  // Starts a server. Errors:
  //
  // * INVALID_ARGUMENT: `listen` is not HOST:PORT, or the path of the socket is too long.
  // * FAILED_PRECONDITION: another coordinator listens at the socket, the folder of the socket is
  //   not safe, or a later version of accel wrote the store.
  // * UNAVAILABLE: cannot listen at `listen`.
  // * INTERNAL: gRPC cannot start a server.
  // * DATA_LOSS and others of Store::Load() and Recover(): the store cannot be read.
  // * The code of the errno: the audit log, the socket or its folder cannot be opened or made.
  static absl::StatusOr<std::unique_ptr<Server>> Start(ServerOptions options);

  // Stops the server. Pending calls end with UNAVAILABLE.
  virtual ~Server() = default;

  // Returns HOST:PORT with the port in use, even if `listen` has port 0. Empty if there is
  // no TCP address.
  virtual std::string address() const = 0;

  // Returns the coordinator for callers in the same process. The server owns it.
  virtual Coordinator* coordinator() = 0;

  // Ends all connections of the credential with this serial. Must be called after the credential is
  // refused, because its holder could otherwise connect again.
  virtual void Cut(const std::string& serial) = 0;

  // Returns the entrance, which must also admit the calls of further services.
  virtual Entrance* entrance() = 0;
};

}  // namespace accel::coordinator
