#include "coordinator/server.h"

#include <grpcpp/resource_quota.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <unistd.h>

#include <chrono>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/boot_id.h"
#include "common/check.h"
#include "common/descriptors.h"
#include "common/host_port.h"
#include "common/status_macros.h"
#include "coordinator/access/audit_log.h"
#include "coordinator/access/entrance.h"
#include "coordinator/access/identify_caller.h"
#include "coordinator/calls/call_server.h"
#include "coordinator/coordinator_loop.h"
#include "coordinator/gate/gate.h"
#include "coordinator/gate/reset_guard.h"
#include "coordinator/listener.h"
#include "coordinator/operations_service.h"
#include "coordinator/refusal_log.h"
#include "coordinator/service.h"
#include "coordinator/store/memory_store.h"
#include "coordinator/unix_listener.h"

namespace accel::coordinator {
namespace {

// Bounds on the resources that callers can use. The gate bounds the number of connections. gRPC
// slows down and refuses what would exceed the memory quota. A connection that sends nothing within
// the handshake time is dropped, and so is one without a call within the idle time.
constexpr size_t kMemoryQuota = size_t{512} << 20;
constexpr int kMaxMessageBytes = 16 << 20;
constexpr int kMaxMetadataBytes = 16 << 10;
// An agent has one stream, and one for each rank whose output it relays.
constexpr int kMaxStreamsPerConnection = 256;
constexpr int kHandshakeMillis = 5'000;
constexpr int kIdleMillis = 60'000;
constexpr int kLeastPingIntervalMillis = 1'000;
constexpr std::chrono::seconds kShutdownGrace(1);

void SetLimits(grpc::ServerBuilder* builder) {
  grpc::ResourceQuota quota("coordinator");
  quota.Resize(kMemoryQuota);
  builder->SetResourceQuota(quota);
  builder->SetMaxReceiveMessageSize(kMaxMessageBytes);
  builder->AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMaxMetadataBytes);
  builder->AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxStreamsPerConnection);
  builder->AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeMillis);
  // The gate lets the kernel detect peers that are gone.
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, std::numeric_limits<int>::max());
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  // Without its probe, gRPC keeps the receive window of a stream at 64 KiB. With it, the window
  // grows to some MiB, and there is a stream for each rank whose output is read.
  builder->AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  builder->AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                              kLeastPingIntervalMillis);
  builder->AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, kIdleMillis);
}

using Connections = std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor>;

// How callers reach the server, and what they find there.
struct Entries {
  std::string socket;
  std::optional<common::HostPort> tcp;
  std::shared_ptr<grpc::ServerCredentials> credentials;
  Gate::Receiver on_enrolment;
  Handlers handlers;
};

class GrpcServer final : public Server {
 public:
  GrpcServer(ServerOptions options, std::unique_ptr<AuditLog> audit)
      : store_(options.store != nullptr ? std::move(options.store)
                                        : std::make_unique<MemoryStore>()),
        refusals_(options.clock),
        audit_(std::move(audit)),
        credentials_(options.credentials),
        entrance_(EntranceOptions(options)),
        loop_(LoopOptions(store_.get(), options)),
        service_(&loop_, &entrance_, &refusals_, std::move(options.check_upload)),
        operations_(&loop_, &entrance_) {}

  ~GrpcServer() override {
    reset_guard_.reset();
    // gRPC would leak connections that it receives while it shuts down.
    if (gate_ != nullptr) gate_->Stop();
    // The loop stops before the server, because it answers all pending calls. The server then shuts
    // down without waiting for them.
    loop_.Stop();
    if (server_ == nullptr) return;
    calls_->Stop(server_.get(), std::chrono::system_clock::now() + kShutdownGrace);
  }

  Entrance::Options EntranceOptions(const ServerOptions& options) {
    Entrance::Options entrance;
    entrance.identify = options.identify;
    if (entrance.identify == nullptr) {
      entrance.identify = IdentifyCaller(options.owner, options.credentials);
    }
    entrance.on_valid_call = [this](const std::string& peer, const std::string& serial) {
      gate_->Authenticated(peer, serial);
    };
    entrance.clock = options.clock;
    entrance.log = &refusals_;
    entrance.audit = audit_.get();
    return entrance;
  }

  absl::Status Begin(Entries entries) {
    ACCEL_RETURN_IF_ERROR(loop_.Load());
    Gate::Options gate;
    if (!entries.socket.empty()) {
      ACCEL_ASSIGN_OR_RETURN(UnixListener listener, UnixListener::Open(entries.socket));
      gate.local.push_back(listener.Duplicate());
      socket_.emplace(std::move(listener));
    }
    if (entries.tcp.has_value()) {
      ACCEL_ASSIGN_OR_RETURN(gate.tcp, ListenOnTcp(*entries.tcp));
    }
    grpc::ServerBuilder builder;
    SetLimits(&builder);
    grpc::experimental::ExternalConnectionAcceptor* const local = NewConnections(
        &builder, grpc::experimental::LocalServerCredentials(UDS), &local_connections_);
    grpc::experimental::ExternalConnectionAcceptor* remote = nullptr;
    if (entries.credentials != nullptr) {
      remote = NewConnections(&builder, std::move(entries.credentials), &connections_);
    }
    service_.AddTo(&entries.handlers);
    operations_.AddTo(&entries.handlers);
    calls_.emplace(std::move(entries.handlers), &builder);
    gate.owner = geteuid();
    gate.first_crowded = FirstCrowdedDescriptor(common::DescriptorLimit());
    gate.on_enrolment = std::move(entries.on_enrolment);
    gate.on_tcp = [remote](common::UniqueFd fd) { HandOver(remote, std::move(fd)); };
    gate.on_local = [local](common::UniqueFd fd) { HandOver(local, std::move(fd)); };
    gate_ = std::make_unique<Gate>(std::move(gate));
    server_ = builder.BuildAndStart();
    if (server_ == nullptr) return absl::InternalError("gRPC cannot start a server");
    loop_.Start();
    calls_->Start();
    gate_->Start();
    // The users of the Unix socket own the coordinator.
    if (entries.tcp.has_value()) {
      reset_guard_.emplace([this](const std::string& peer) {
        // A connection that is closed remains in gRPC's list for a moment.
        const std::optional<std::string> serial = gate_->CutPeer(peer);
        if (!serial.has_value()) return;
        entrance_.NoteCut(HolderOf(*serial), peer,
                          "it resets streams faster than they can be served");
      });
    }
    return absl::OkStatus();
  }

  std::string address() const override { return address_; }
  Coordinator* coordinator() override { return &loop_; }
  void Cut(const std::string& serial) override { gate_->Cut(serial); }
  Entrance* entrance() override { return &entrance_; }

 private:
  static CoordinatorLoop::Options LoopOptions(Store* store, const ServerOptions& options) {
    CoordinatorLoop::Options loop;
    loop.store = store;
    loop.clock = options.clock;
    loop.limits = options.limits;
    loop.boot_id = common::BootId();
    loop.cluster_id = options.cluster_id;
    loop.owner = options.owner;
    loop.on_access = options.on_access;
    return loop;
  }

  std::optional<Caller> HolderOf(const std::string& serial) const {
    if (credentials_ == nullptr || serial.empty()) return std::nullopt;
    return credentials_->HolderOf(serial);
  }

  absl::StatusOr<std::vector<common::UniqueFd>> ListenOnTcp(const common::HostPort& listen) {
    absl::StatusOr<Listener> found = ListenOn(listen);
    if (!found.ok()) {
      return absl::UnavailableError(
          absl::StrCat(found.status().message(), "; choose another address with --listen"));
    }
    Listener listener = *std::move(found);
    address_ = absl::StrCat(listen.host.find(':') == std::string::npos
                                ? listen.host
                                : absl::StrCat("[", listen.host, "]"),
                            ":", listener.port);
    return std::move(listener.sockets);
  }

  static grpc::experimental::ExternalConnectionAcceptor* NewConnections(
      grpc::ServerBuilder* builder, std::shared_ptr<grpc::ServerCredentials> credentials,
      Connections* connections) {
    *connections = builder->experimental().AddExternalConnectionAcceptor(
        grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
        std::move(credentials));
    return connections->get();
  }

  static void HandOver(grpc::experimental::ExternalConnectionAcceptor* connections,
                       common::UniqueFd fd) {
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
    connection.fd = fd.release();
    connections->HandleNewConnection(&connection);
  }

  std::optional<UnixListener> socket_;
  std::string address_;
  const std::unique_ptr<Store> store_;
  RefusalLog refusals_;
  std::unique_ptr<Gate> gate_;
  const std::unique_ptr<AuditLog> audit_;
  const CredentialTable* const credentials_;  // May be null.
  Entrance entrance_;
  CoordinatorLoop loop_;
  CoordinatorService service_;
  OperationsService operations_;
  Connections connections_;
  Connections local_connections_;
  std::optional<CallServer> calls_;
  std::unique_ptr<grpc::Server> server_;
  std::optional<ResetGuard> reset_guard_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Server>> Server::Start(ServerOptions options) {
  Entries entries{.socket = options.socket,
                  .tcp = std::nullopt,
                  .credentials = options.tcp_credentials,
                  .on_enrolment = options.on_enrolment,
                  .handlers = std::move(options.handlers)};
  if (!options.listen.empty()) {
    ACCEL_ASSIGN_OR_RETURN(entries.tcp, common::ParseHostPort(options.listen));
    ACCEL_CHECK(options.tcp_credentials != nullptr, "TCP is always TLS");
  }
  std::unique_ptr<AuditLog> audit;
  if (!options.audit_log.empty()) {
    ACCEL_ASSIGN_OR_RETURN(audit, AuditLog::Open(options.audit_log));
  }
  auto server = std::make_unique<GrpcServer>(std::move(options), std::move(audit));
  ACCEL_RETURN_IF_ERROR(server->Begin(std::move(entries)));
  return server;
}

}  // namespace accel::coordinator
