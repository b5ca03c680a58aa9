// A fixture for tests: a coordinator's server on a free port, a client with the token, and agents
// whose reports the test sends.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "common/grpc_status.h"
#include "common/status_matchers.h"
#include "coordinator/observed_fixture.h"
#include "coordinator/server.h"
#include "proto/service.grpc.pb.h"

namespace accel::coordinator {

inline constexpr char kToken[] = "0123456789abcdef-the-token";

// Returns the context of a call. Its deadline makes a call without an answer fail the test instead
// of blocking it.
inline std::unique_ptr<grpc::ClientContext> Call(const std::string& authorization) {
  auto context = std::make_unique<grpc::ClientContext>();
  context->set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
  if (!authorization.empty()) context->AddMetadata("authorization", authorization);
  return context;
}
inline std::unique_ptr<grpc::ClientContext> Call() { return Call(std::string("Bearer ") + kToken); }

class ServiceTest : public ::testing::Test {
 protected:
  ServiceTest() : ServiceTest(ServerOptions()) {}
  explicit ServiceTest(ServerOptions options) {
    options.listen = "127.0.0.1:0";
    options.token = kToken;
    // The agents of these tests send no heartbeats.
    options.limits.node_timeout = absl::Hours(1);
    auto server = Server::Start(std::move(options));
    EXPECT_OK(server);
    server_ = *std::move(server);
    channel_ = grpc::CreateChannel(server_->address(), grpc::InsecureChannelCredentials());
    stub_ = v1::Coordinator::NewStub(channel_);
  }

  absl::StatusOr<std::string> Submit(const std::string& submit_id, int nodes = 1) {
    v1::SubmitJobRequest request;
    request.set_submit_id(submit_id);
    request.mutable_spec()->add_argv("train");
    request.mutable_spec()->set_nodes(nodes);
    v1::EnvVar* variable = request.mutable_spec()->add_env();
    variable->set_name("A");
    v1::SubmitJobResponse response;
    const auto context = Call();
    const absl::Status status =
        common::FromGrpc(stub_->SubmitJob(context.get(), request, &response));
    if (!status.ok()) return status;
    return response.job_id();
  }

  std::unique_ptr<Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::Coordinator::Stub> stub_;
};

// An agent whose reports the test sends.
class Agent {
 public:
  explicit Agent(v1::Coordinator::Stub* stub) : context_(Call()) {
    stream_ = stub->Agent(context_.get());
  }

  void Report(const v1::NodeObserved& observed) { ASSERT_TRUE(stream_->Write(observed)); }
  bool Read() { return stream_->Read(&desired); }
  absl::Status Finish() { return common::FromGrpc(stream_->Finish()); }
  void Leave() { stream_->WritesDone(); }

  v1::NodeDesired desired;

 private:
  const std::unique_ptr<grpc::ClientContext> context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::NodeObserved, v1::NodeDesired>> stream_;
};

}  // namespace accel::coordinator
