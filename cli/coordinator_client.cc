#include "cli/coordinator_client.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/connection_flags.h"
#include "common/grpc_status.h"
#include "common/host_port.h"
#include "common/status_macros.h"
#include "common/stream_open.h"
#include "proto/access.grpc.pb.h"
#include "proto/service.grpc.pb.h"
#include "security/client_credentials.h"

namespace accel::cli {
namespace {

constexpr absl::Duration kCallDeadline = absl::Seconds(30);
// gRPC's own back-off between two attempts to connect. It is short because common::Backoff in
// follow_job.cc already limits how often a call is made.
constexpr int kFirstReconnectMs = 20;
constexpr int kLongestReconnectMs = 500;
// Time limit of one attempt to connect, which gRPC calls the minimum back-off. The coordinator may
// be several hundred milliseconds away, behind a tunnel, on a busy machine.
constexpr int kConnectTimeoutMs = 10'000;
// Large enough for `accel status --json` with thousands of jobs. gRPC's default of 4 MiB is not.
constexpr int kLargestMessage = 256 << 20;

grpc::ChannelArguments Arguments() {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);  // A coordinator is never behind a proxy.
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  arguments.SetInt(GRPC_ARG_DNS_MIN_TIME_BETWEEN_RESOLUTIONS_MS, 1000);  // The default is 30 s.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kFirstReconnectMs);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kConnectTimeoutMs);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kLongestReconnectMs);
  // A watch lasts as long as its job. Keep-alives detect a peer that vanished without closing.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 20'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20'000);
  arguments.SetMaxReceiveMessageSize(kLargestMessage);
  security::ExpectServerName(&arguments);
  return arguments;
}

class GrpcCoordinatorClient final : public CoordinatorClient {
 public:
  GrpcCoordinatorClient(std::string address, const std::string& target,
                        const std::shared_ptr<grpc::ChannelCredentials>& credentials)
      : address_(std::move(address)),
        channel_(grpc::CreateCustomChannel(target, credentials, Arguments())),
        stub_(v1::Coordinator::NewStub(channel_)),
        operations_(v1::Operations::NewStub(channel_)),
        access_(v1::Access::NewStub(channel_)) {}

  // gRPC reads a channel's sockets only while a thread waits in one of its calls, such as this one.
  // Otherwise it does so only every 5 s.
  void AwaitConnection(absl::Duration longest) override {
    channel_->WaitForConnected(std::chrono::system_clock::now() +
                               absl::ToChronoMilliseconds(longest));
  }

  absl::StatusOr<std::string> SubmitJob(const v1::SubmitJobRequest& request,
                                        absl::Duration deadline) override {
    v1::SubmitJobResponse response;
    ACCEL_RETURN_IF_ERROR(Call(deadline, [&](grpc::ClientContext* context) {
      return stub_->SubmitJob(context, request, &response);
    }));
    return response.job_id();
  }

  absl::StatusOr<v1::ListJobsResponse> ListJobs(const std::string& job_id) override {
    v1::ListJobsRequest request;
    request.set_job_id(job_id);
    v1::ListJobsResponse response;
    ACCEL_RETURN_IF_ERROR(Call(kCallDeadline, [&](grpc::ClientContext* context) {
      return stub_->ListJobs(context, request, &response);
    }));
    return response;
  }

  absl::Status CancelJob(const std::string& job_id, bool at_once) override {
    v1::CancelJobRequest request;
    request.set_job_id(job_id);
    request.set_at_once(at_once);
    v1::CancelJobResponse response;
    return Call(kCallDeadline, [&](grpc::ClientContext* context) {
      return stub_->CancelJob(context, request, &response);
    });
  }

  absl::StatusOr<v1::ListNodesResponse> ListNodes() override {
    v1::ListNodesResponse response;
    ACCEL_RETURN_IF_ERROR(Call(kCallDeadline, [&](grpc::ClientContext* context) {
      return stub_->ListNodes(context, {}, &response);
    }));
    return response;
  }

  absl::Status DrainNode(const std::string& node, v1::Drain drain) override {
    v1::DrainNodeRequest request;
    request.set_node(node);
    request.set_drain(drain);
    v1::DrainNodeResponse response;
    return Call(kCallDeadline, [&](grpc::ClientContext* context) {
      return operations_->DrainNode(context, request, &response);
    });
  }

  absl::StatusOr<v1::AddTokenResponse> AddToken(const v1::AddTokenRequest& request) override {
    return Unary<v1::AddTokenResponse>(&v1::Access::Stub::AddToken, request);
  }
  absl::StatusOr<v1::ListMembersResponse> ListMembers(v1::MemberKind kind) override {
    v1::ListMembersRequest request;
    request.set_kind(kind);
    return Unary<v1::ListMembersResponse>(&v1::Access::Stub::ListMembers, request);
  }
  absl::StatusOr<v1::RevokeResponse> Revoke(const v1::RevokeRequest& request) override {
    return Unary<v1::RevokeResponse>(&v1::Access::Stub::Revoke, request);
  }
  absl::Status RemoveMember(v1::MemberKind kind, const std::string& member) override {
    v1::RemoveMemberRequest request;
    request.set_kind(kind);
    request.set_member(member);
    return Unary<v1::RemoveMemberResponse>(&v1::Access::Stub::RemoveMember, request).status();
  }
  absl::StatusOr<v1::WhoAmIResponse> WhoAmI() override {
    return Unary<v1::WhoAmIResponse>(&v1::Access::Stub::WhoAmI, v1::WhoAmIRequest());
  }

  absl::Status WatchJob(const v1::WatchJobRequest& request, const std::function<void()>& on_open,
                        const std::function<bool(const v1::Job&)>& on_job) override {
    return Call(absl::InfiniteDuration(), [&](grpc::ClientContext* context) {
      auto reader = stub_->WatchJob(context, request);
      AwaitOpen(context, reader.get(), on_open);
      v1::Job job;
      while (reader->Read(&job)) {
        if (on_job(job)) continue;
        context->TryCancel();
        reader->Finish();
        return grpc::Status::OK;
      }
      return reader->Finish();
    });
  }

  absl::Status ReadLogs(const v1::ReadLogsRequest& request, const std::function<void()>& on_open,
                        const std::function<void(const v1::LogChunk&)>& on_chunk) override {
    return Call(absl::InfiniteDuration(), [&](grpc::ClientContext* context) {
      auto reader = stub_->ReadLogs(context, request);
      AwaitOpen(context, reader.get(), on_open);
      v1::LogChunk chunk;
      while (reader->Read(&chunk)) on_chunk(chunk);
      return reader->Finish();
    });
  }

 private:
  // Blocks until the coordinator has accepted the call, or the call has failed.
  template <typename Message>
  static void AwaitOpen(grpc::ClientContext* context, grpc::ClientReader<Message>* reader,
                        const std::function<void()>& on_open) {
    reader->WaitForInitialMetadata();
    if (context->GetServerInitialMetadata().count(common::kStreamOpen) > 0) on_open();
  }

  template <typename Response, typename Method, typename Request>
  absl::StatusOr<Response> Unary(Method method, const Request& request) {
    Response response;
    ACCEL_RETURN_IF_ERROR(Call(kCallDeadline, [&](grpc::ClientContext* context) {
      return (access_.get()->*method)(context, request, &response);
    }));
    return response;
  }

  template <typename Invoke>
  absl::Status Call(absl::Duration deadline, Invoke&& invoke) {
    grpc::ClientContext context;
    if (deadline != absl::InfiniteDuration()) {
      context.set_deadline(std::chrono::system_clock::now() + absl::ToChronoMilliseconds(deadline));
    }
    return Explain(invoke(&context), deadline);
  }

  absl::Status Explain(const grpc::Status& status, absl::Duration deadline) const {
    if (status.ok()) return absl::OkStatus();
    std::string sentence = status.error_message();
    switch (status.error_code()) {
      case grpc::StatusCode::UNAVAILABLE:
        // The coordinator's own refusals arrive over an established connection and are kept.
        // Without a connection the message is gRPC's jargon and is replaced.
        if (channel_->GetState(false) != GRPC_CHANNEL_READY) {
          sentence =
              absl::StrCat("cannot reach the coordinator at ", address_,
                           "; is accel-coordinator running there? (choose another address with "
                           "--coordinator or ACCEL_COORDINATOR)");
        }
        break;
      case grpc::StatusCode::DEADLINE_EXCEEDED:
        sentence = absl::StrCat("the coordinator at ", address_, " has not answered for ",
                                absl::FormatDuration(deadline));
        break;
      case grpc::StatusCode::CANCELLED:
        // This client did not cancel the call: a server that shuts down answers pending
        // calls this way.
        return absl::UnavailableError(
            absl::StrCat("the coordinator at ", address_, " is shutting down"));
      default:
        break;
    }
    return absl::Status(common::FromGrpc(status).code(), sentence);
  }

  const std::string address_;
  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<v1::Coordinator::Stub> stub_;
  const std::unique_ptr<v1::Operations::Stub> operations_;
  const std::unique_ptr<v1::Access::Stub> access_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<CoordinatorClient>> CoordinatorClient::Connect(
    const std::string& address) {
  ACCEL_RETURN_IF_ERROR(CheckSocketAddress(address));
  // The kernel names both users, so the connection needs no encryption.
  return std::unique_ptr<CoordinatorClient>(std::make_unique<GrpcCoordinatorClient>(
      address, address, grpc::experimental::LocalCredentials(UDS)));
}

absl::StatusOr<std::unique_ptr<CoordinatorClient>> CoordinatorClient::ConnectWithCertificate(
    const std::string& address, const security::ClientIdentity& identity) {
  ACCEL_RETURN_IF_ERROR(common::ParseHostPort(address).status());
  return std::unique_ptr<CoordinatorClient>(std::make_unique<GrpcCoordinatorClient>(
      address, absl::StrCat("dns:///", address), security::MakeClientCredentials(identity)));
}

}  // namespace accel::cli
