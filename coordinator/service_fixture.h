// A fixture for tests: a coordinator's server at a Unix socket, a client, and agents whose reports
// the test sends.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "common/grpc_status.h"
#include "common/status_matchers.h"
#include "coordinator/observed_fixture.h"
#include "coordinator/server.h"
#include "proto/service.grpc.pb.h"

namespace accel::coordinator {

// Returns the context of a call. Its deadline makes a call without an answer fail the test instead
// of blocking it. `authorization` names the caller for servers whose `identify` reads it.
inline std::unique_ptr<grpc::ClientContext> Call(const std::string& authorization = "") {
  auto context = std::make_unique<grpc::ClientContext>();
  context->set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
  if (!authorization.empty()) context->AddMetadata("authorization", authorization);
  return context;
}

// A folder for the socket, whose path must be short. It is removed at the end.
class SocketFolder {
 public:
  SocketFolder() { EXPECT_NE(mkdtemp(folder_.data()), nullptr); }
  ~SocketFolder() { std::filesystem::remove_all(folder_); }

  std::string socket() const { return folder_ + "/coordinator"; }
  // Returns a channel, which has its own connection.
  std::shared_ptr<grpc::Channel> Connect() const {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return grpc::CreateCustomChannel("unix:" + socket(), grpc::experimental::LocalCredentials(UDS),
                                     arguments);
  }

 private:
  std::string folder_ = "/tmp/service.XXXXXX";
};

class ServiceTest : public ::testing::Test {
 protected:
  ServiceTest() : ServiceTest(ServerOptions()) {}
  explicit ServiceTest(ServerOptions options) {
    options.socket = folder_.socket();
    // The agents of these tests send no heartbeats.
    options.limits.node_timeout = absl::Hours(1);
    auto server = Server::Start(std::move(options));
    EXPECT_OK(server);
    server_ = *std::move(server);
    channel_ = folder_.Connect();
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

  const SocketFolder folder_;
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
