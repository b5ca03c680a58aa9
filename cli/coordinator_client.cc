#include "cli/coordinator_client.h"

#include <grpcpp/grpcpp.h>

#include <utility>

#include "cli/connection_flags.h"
#include "cli/coordinator_connection.h"
#include "common/host_port.h"
#include "common/status_macros.h"
#include "common/stream_open.h"
#include "proto/access.grpc.pb.h"
#include "proto/service.grpc.pb.h"

namespace accel::cli {
namespace {

constexpr absl::Duration kCallDeadline = absl::Seconds(30);

class GrpcCoordinatorClient final : public CoordinatorClient {
 public:
  explicit GrpcCoordinatorClient(const std::string& address) : connection_(address) {}
  GrpcCoordinatorClient(const std::string& address, Login login)
      : connection_(address, std::move(login)) {}

  // gRPC reads a channel's sockets only while a thread waits in one of its calls, such as this one.
  // Otherwise it does so only every 5 s.
  void AwaitConnection(absl::Duration longest) override { connection_.Await(longest); }

  absl::StatusOr<std::string> SubmitJob(const v1::SubmitJobRequest& request,
                                        absl::Duration deadline) override {
    v1::SubmitJobResponse response;
    ACCEL_RETURN_IF_ERROR(connection_.Call(
        deadline, CallEffect::kSome, [&](const CoordinatorStubs& to, grpc::ClientContext* context) {
          return to.coordinator->SubmitJob(context, request, &response);
        }));
    return response.job_id();
  }

  absl::StatusOr<v1::ListJobsResponse> ListJobs(const std::string& job_id) override {
    v1::ListJobsRequest request;
    request.set_job_id(job_id);
    v1::ListJobsResponse response;
    ACCEL_RETURN_IF_ERROR(
        connection_.Call(kCallDeadline, CallEffect::kNone,
                         [&](const CoordinatorStubs& to, grpc::ClientContext* context) {
                           return to.coordinator->ListJobs(context, request, &response);
                         }));
    return response;
  }

  absl::Status CancelJob(const std::string& job_id, bool at_once) override {
    v1::CancelJobRequest request;
    request.set_job_id(job_id);
    request.set_at_once(at_once);
    v1::CancelJobResponse response;
    return connection_.Call(kCallDeadline, CallEffect::kSome,
                            [&](const CoordinatorStubs& to, grpc::ClientContext* context) {
                              return to.coordinator->CancelJob(context, request, &response);
                            });
  }

  absl::StatusOr<v1::ListNodesResponse> ListNodes() override {
    v1::ListNodesResponse response;
    ACCEL_RETURN_IF_ERROR(
        connection_.Call(kCallDeadline, CallEffect::kNone,
                         [&](const CoordinatorStubs& to, grpc::ClientContext* context) {
                           return to.coordinator->ListNodes(context, {}, &response);
                         }));
    return response;
  }

  absl::Status DrainNode(const std::string& node, v1::Drain drain) override {
    v1::DrainNodeRequest request;
    request.set_node(node);
    request.set_drain(drain);
    v1::DrainNodeResponse response;
    return connection_.Call(kCallDeadline, CallEffect::kSome,
                            [&](const CoordinatorStubs& to, grpc::ClientContext* context) {
                              return to.operations->DrainNode(context, request, &response);
                            });
  }

  absl::StatusOr<std::vector<std::string>> MissingBlobs(const std::string& manifest) override {
    v1::HasBlobsRequest request;
    request.set_manifest(manifest);
    v1::HasBlobsResponse response;
    ACCEL_RETURN_IF_ERROR(
        connection_.Call(kCallDeadline, CallEffect::kNone,
                         [&](const CoordinatorStubs& to, grpc::ClientContext* context) {
                           return to.blobs->Has(context, request, &response);
                         }));
    return std::vector<std::string>(response.missing().begin(), response.missing().end());
  }

  absl::Status PutBlobs(const std::function<absl::Status(const SendChunk& send)>& source) override {
    absl::Status local;
    const absl::Status sent = connection_.Call(
        absl::InfiniteDuration(), CallEffect::kSome,
        [&](const CoordinatorStubs& to, grpc::ClientContext* context) {
          v1::PutBlobsResponse response;
          const auto writer = to.blobs->Put(context, &response);
          local = source([&](const v1::BlobChunk& chunk) { return writer->Write(chunk); });
          writer->WritesDone();
          return writer->Finish();
        });
    return local.ok() ? sent : local;
  }

  absl::StatusOr<v1::AddTokenResponse> AddToken(const v1::AddTokenRequest& request) override {
    return Unary<v1::AddTokenResponse>(CallEffect::kSome, &v1::Access::Stub::AddToken, request);
  }
  absl::StatusOr<v1::ListMembersResponse> ListMembers(v1::MemberKind kind) override {
    v1::ListMembersRequest request;
    request.set_kind(kind);
    return Unary<v1::ListMembersResponse>(CallEffect::kNone, &v1::Access::Stub::ListMembers,
                                          request);
  }
  absl::StatusOr<v1::RevokeResponse> Revoke(const v1::RevokeRequest& request) override {
    return Unary<v1::RevokeResponse>(CallEffect::kSome, &v1::Access::Stub::Revoke, request);
  }
  absl::Status RemoveMember(v1::MemberKind kind, const std::string& member) override {
    v1::RemoveMemberRequest request;
    request.set_kind(kind);
    request.set_member(member);
    return Unary<v1::RemoveMemberResponse>(CallEffect::kSome, &v1::Access::Stub::RemoveMember,
                                           request)
        .status();
  }
  absl::StatusOr<v1::WhoAmIResponse> WhoAmI() override {
    return Unary<v1::WhoAmIResponse>(CallEffect::kNone, &v1::Access::Stub::WhoAmI,
                                     v1::WhoAmIRequest());
  }

  absl::Status WatchJob(const v1::WatchJobRequest& request, const std::function<void()>& on_open,
                        const std::function<bool(const v1::Job&)>& on_job) override {
    return connection_.Call(absl::InfiniteDuration(), CallEffect::kSome,
                            [&](const CoordinatorStubs& to, grpc::ClientContext* context) {
                              auto reader = to.coordinator->WatchJob(context, request);
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
    return connection_.Call(absl::InfiniteDuration(), CallEffect::kSome,
                            [&](const CoordinatorStubs& to, grpc::ClientContext* context) {
                              auto reader = to.coordinator->ReadLogs(context, request);
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
  absl::StatusOr<Response> Unary(CallEffect effect, Method method, const Request& request) {
    Response response;
    ACCEL_RETURN_IF_ERROR(connection_.Call(
        kCallDeadline, effect, [&](const CoordinatorStubs& to, grpc::ClientContext* context) {
          return (to.access.get()->*method)(context, request, &response);
        }));
    return response;
  }

  CoordinatorConnection connection_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<CoordinatorClient>> CoordinatorClient::Connect(
    const std::string& address) {
  ACCEL_RETURN_IF_ERROR(CheckSocketAddress(address));
  return std::unique_ptr<CoordinatorClient>(std::make_unique<GrpcCoordinatorClient>(address));
}

absl::StatusOr<std::unique_ptr<CoordinatorClient>> CoordinatorClient::ConnectWithCertificate(
    const std::string& address, Login login) {
  ACCEL_RETURN_IF_ERROR(common::ParseHostPort(address).status());
  return std::unique_ptr<CoordinatorClient>(
      std::make_unique<GrpcCoordinatorClient>(address, std::move(login)));
}

}  // namespace accel::cli
