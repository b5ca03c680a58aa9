#include "cli/machines/run_server.h"

#include <grpcpp/resource_quota.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <chrono>
#include <optional>
#include <utility>

#include "absl/time/clock.h"
#include "common/clock.h"
#include "common/descriptors.h"
#include "common/status_macros.h"
#include "coordinator/calls/call_server.h"
#include "coordinator/calls/handler.h"
#include "coordinator/gate/gate.h"
#include "coordinator/refusal_log.h"
#include "coordinator/streams.h"
#include "coordinator/wire.h"
#include "proto/run.grpc.pb.h"
#include "proto/service.grpc.pb.h"
#include "security/server_credentials.h"

namespace accel::cli {
namespace {

using coordinator::ServerCall;

constexpr coordinator::WireBounds kRequestBounds{128 << 10, 4 * kMaxRunTerms};
constexpr size_t kMemoryQuota = size_t{256} << 20;
constexpr int kMaxMessageBytes = 16 << 20;
constexpr int kMaxMetadataBytes = 16 << 10;
constexpr int kMaxStreamsPerConnection = 16;
constexpr int kHandshakeMillis = 5'000;
constexpr int kKeepaliveMillis = 1'000;
constexpr int kKeepaliveTimeoutMillis = 2'000;
constexpr std::chrono::seconds kShutdownGrace(1);

// The stream of one machine.
class JoinStream final : public coordinator::CallReactor {
 public:
  JoinStream(ServerCall* call, RunHub* hub, coordinator::RefusalLog* log)
      : call_(*call),
        hub_(*hub),
        log_(*log),
        peer_(call->peer()),
        ticks_(std::make_shared<RunHub::Ticks>()) {
    Next();
    call_.StartRead(&reading_);
  }
  ~JoinStream() override {
    if (id_.has_value()) hub_.Leave(*id_);
  }

  void OnReadDone(bool ok) override {
    if (!ok) return ticks_->End(absl::OkStatus());
    v1::RunRequest request;
    absl::Status taken = coordinator::Parse(reading_, kRequestBounds, &request);
    reading_.Clear();
    if (taken.ok()) taken = Take(request);
    if (!taken.ok()) {
      log_.Warn("refused a machine", peer_, std::string(taken.message()));
      return ticks_->End(taken);
    }
    call_.StartRead(&reading_);
  }
  void OnWriteDone(bool ok) override {
    if (!ok) ticks_->Cancel();
    Next();
  }
  void OnCancel() override { ticks_->Cancel(); }

 private:
  absl::Status Take(const v1::RunRequest& request) {
    if (!id_.has_value()) {
      ACCEL_ASSIGN_OR_RETURN(id_, hub_.Join(request.machine()));
      hub_.Subscribe(*id_, ticks_);  // There is no tick before `id_` is set.
      return absl::OkStatus();
    }
    if (request.has_machine()) {
      return absl::InvalidArgumentError("machine: only the first message has one");
    }
    if (request.signal() != 0) hub_.Signal(*id_, request.signal(), request.at_once());
    return absl::OkStatus();
  }

  void Next() {
    ticks_->Pull([this](std::optional<RunHub::Changed> changed, absl::Status end) {
      if (!changed.has_value()) return call_.Finish(end);
      call_.StartWrite(coordinator::ToBytes(hub_.NewsFor(*id_)));
    });
  }

  ServerCall& call_;
  RunHub& hub_;
  coordinator::RefusalLog& log_;
  const std::string peer_;
  const std::shared_ptr<RunHub::Ticks> ticks_;
  std::optional<RunHub::Id> id_;
  grpc::ByteBuffer reading_;
};

void SetLimits(grpc::ServerBuilder* builder) {
  grpc::ResourceQuota quota("launch");
  quota.Resize(kMemoryQuota);
  builder->SetResourceQuota(quota);
  builder->SetMaxReceiveMessageSize(kMaxMessageBytes);
  builder->AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMaxMetadataBytes);
  builder->AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxStreamsPerConnection);
  builder->AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeMillis);
  // Until its agent reports, only this shows that a machine is gone.
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMillis);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMillis);
  builder->AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder->AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 500);
}

class GrpcRunServer final : public RunServer {
 public:
  GrpcRunServer(RunHub* hub, coordinator::Coordinator* coordinator)
      : hub_(*hub), coordinator_(*coordinator), refusals_(common::SteadyClock()) {}

  ~GrpcRunServer() override {
    // gRPC would leak connections that it receives while it shuts down.
    if (gate_ != nullptr) gate_->Stop();
    hub_.Close(absl::AbortedError("the machine that serves the run has ended"));
    if (server_ == nullptr) return;
    calls_->Stop(server_.get(), std::chrono::system_clock::now() + kShutdownGrace);
  }

  absl::Status Begin(coordinator::Listener listener, security::ServerTls tls) {
    ACCEL_ASSIGN_OR_RETURN(certificate_,
                           security::ServerCertificateSource::Make(std::move(tls), absl::Now()));
    grpc::ServerBuilder builder;
    SetLimits(&builder);
    connections_ = builder.experimental().AddExternalConnectionAcceptor(
        grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
        certificate_->MakeCredentials());
    calls_.emplace(handlers(), &builder);
    server_ = builder.BuildAndStart();
    if (server_ == nullptr) return absl::InternalError("gRPC cannot start a server");
    coordinator::Gate::Options gate;
    gate.tcp = std::move(listener.sockets);
    gate.first_crowded = coordinator::FirstCrowdedDescriptor(common::DescriptorLimit());
    gate.on_tcp = [this](common::UniqueFd fd) { HandOver(std::move(fd)); };
    gate_ = std::make_unique<coordinator::Gate>(std::move(gate));
    calls_->Start();
    gate_->Start();
    return absl::OkStatus();
  }

 private:
  coordinator::Handlers handlers() {
    coordinator::Handlers handlers;
    coordinator::HandlerAdder(this, v1::Run::service_full_name(), &handlers)
        .Add("Join", &GrpcRunServer::Join);
    coordinator::HandlerAdder(this, v1::Coordinator::service_full_name(), &handlers)
        .Add("Agent", &GrpcRunServer::Agent);
    return handlers;
  }

  void Join(ServerCall* call) {
    gate_->Authenticated(call->peer(), /*serial=*/"");
    call->React(std::make_unique<JoinStream>(call, &hub_, &refusals_));
  }

  void Agent(ServerCall* call) {
    gate_->Authenticated(call->peer(), /*serial=*/"");
    coordinator::ServeAgent(call, &coordinator_, {coordinator::Owner(), {}}, &refusals_);
  }

  void HandOver(common::UniqueFd fd) {
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
    connection.fd = fd.release();
    connections_->HandleNewConnection(&connection);
  }

  RunHub& hub_;
  coordinator::Coordinator& coordinator_;
  coordinator::RefusalLog refusals_;
  std::unique_ptr<security::ServerCertificateSource> certificate_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> connections_;
  std::unique_ptr<coordinator::Gate> gate_;  // Outlives the server, whose calls use it.
  std::optional<coordinator::CallServer> calls_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<RunServer>> RunServer::Start(coordinator::Listener listener,
                                                            security::ServerTls tls, RunHub* hub,
                                                            coordinator::Coordinator* coordinator) {
  auto server = std::make_unique<GrpcRunServer>(hub, coordinator);
  ACCEL_RETURN_IF_ERROR(server->Begin(std::move(listener), std::move(tls)));
  return server;
}

}  // namespace accel::cli
