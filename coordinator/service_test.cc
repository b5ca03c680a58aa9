// The service over a real channel, on a port of its own.

#include "coordinator/service.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/synchronization/notification.h"
#include "common/grpc_status.h"
#include "common/status_matchers.h"
#include "coordinator/server.h"
#include "proto/service.grpc.pb.h"

namespace accel {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

constexpr char kToken[] = "0123456789abcdef-the-token";

// A call that nobody answers fails the test instead of hanging it.
std::unique_ptr<grpc::ClientContext> Call(const std::string& authorization) {
  auto context = std::make_unique<grpc::ClientContext>();
  context->set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
  if (!authorization.empty()) context->AddMetadata("authorization", authorization);
  return context;
}
std::unique_ptr<grpc::ClientContext> Call() { return Call(std::string("Bearer ") + kToken); }

v1::NodeObserved Observed(uint64_t sequence) {
  v1::NodeObserved observed;
  observed.set_node_id("id-a");
  observed.set_name("a");
  observed.set_incarnation("a-1");
  observed.set_address("127.0.0.1");
  observed.set_sequence(sequence);
  return observed;
}

class ServiceTest : public ::testing::Test {
 protected:
  ServiceTest() {
    ServerOptions options;
    options.listen = "127.0.0.1:0";
    options.token = kToken;
    // Agents of these tests send no heartbeat.
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
    const absl::Status status = FromGrpc(stub_->SubmitJob(context.get(), request, &response));
    if (!status.ok()) return status;
    return response.job_id();
  }

  // Calls any method by name with these bytes as its request; returns how it ends.
  absl::Status CallByName(const std::string& method, const std::string& authorization,
                          const std::string& bytes) {
    grpc::GenericStub generic(channel_);
    const auto context = Call(authorization);
    const grpc::Slice slice(bytes);
    const grpc::ByteBuffer request(&slice, 1);
    grpc::ByteBuffer response;
    grpc::Status status;
    absl::Notification done;
    generic.UnaryCall(context.get(), "/accel.v1.Coordinator/" + method, grpc::StubOptions(),
                      &request, &response, [&status, &done](grpc::Status ended) {
                        status = std::move(ended);
                        done.Notify();
                      });
    done.WaitForNotification();
    return FromGrpc(status);
  }

  static std::vector<std::string> Methods() {
    std::vector<std::string> names;
    const auto* service =
        v1::SubmitJobRequest::descriptor()->file()->FindServiceByName("Coordinator");
    for (int i = 0; i < service->method_count(); ++i) names.push_back(service->method(i)->name());
    return names;
  }

  std::unique_ptr<Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::Coordinator::Stub> stub_;
};

TEST_F(ServiceTest, EveryCallNeedsTheToken) {
  ASSERT_EQ(Methods().size(), 8u);
  for (const std::string& method : Methods()) {
    for (const std::string& authorization :
         {std::string(), std::string("Bearer "), std::string("Bearer 0123456789abcdef-the-tokem"),
          std::string(kToken), std::string("bearer ") + kToken,
          std::string("Bearer ") + kToken + "x"}) {
      EXPECT_THAT(CallByName(method, authorization, ""),
                  StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("--token_file")))
          << method << " with '" << authorization << "'";
    }
  }
}

TEST_F(ServiceTest, MalformedInputIsRefusedAndHarmless) {
  for (const std::string& method : Methods()) {
    const absl::Status status =
        CallByName(method, std::string("Bearer ") + kToken, "\xff\xff\xff\xff garbage");
    // To a stream of messages it is an early end.
    const bool streams = method == "Agent" || method == "RelayLogs";
    EXPECT_EQ(status.ok(), streams) << method;
    EXPECT_NE(status.code(), absl::StatusCode::kDeadlineExceeded) << method;
  }
  EXPECT_OK(Submit("still-alive"));
}

TEST_F(ServiceTest, TooLargeIsRefused) {
  EXPECT_THAT(
      CallByName("SubmitJob", std::string("Bearer ") + kToken, std::string(size_t{17} << 20, 'x')),
      StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("larger than max")));
}

TEST_F(ServiceTest, ARepeatedSubmitIsTheSameJob) {
  const auto first = Submit("same", 2);
  ASSERT_OK(first);
  EXPECT_EQ(*Submit("same", 2), *first);
  EXPECT_NE(*Submit("other", 2), *first);
  EXPECT_THAT(Submit("bad", 0), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("nodes")));
  EXPECT_THAT(Submit(""), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("submit_id")));
}

TEST_F(ServiceTest, ListsJobsAndNodes) {
  const std::string job = Submit("one").value();
  v1::ListJobsRequest request;
  v1::ListJobsResponse response;
  ASSERT_OK(FromGrpc(stub_->ListJobs(Call().get(), request, &response)));
  ASSERT_EQ(response.jobs_size(), 1);
  EXPECT_EQ(response.jobs(0).job_id(), job);
  EXPECT_EQ(response.jobs(0).spec().env_size(), 0);
  request.set_job_id(job);
  ASSERT_OK(FromGrpc(stub_->ListJobs(Call().get(), request, &response)));
  EXPECT_EQ(response.jobs(0).spec().env_size(), 1);
  request.set_job_id("nope");
  EXPECT_THAT(FromGrpc(stub_->ListJobs(Call().get(), request, &response)),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("nope")));
  v1::ListNodesResponse nodes;
  ASSERT_OK(FromGrpc(stub_->ListNodes(Call().get(), {}, &nodes)));
  EXPECT_EQ(nodes.nodes_size(), 0);
}

TEST_F(ServiceTest, AWatchEndsWithTheFinalPhase) {
  const std::string job = Submit("one").value();
  v1::WatchJobRequest request;
  request.set_job_id(job);
  const auto context = Call();
  const auto watch = stub_->WatchJob(context.get(), request);
  v1::Job seen;
  ASSERT_TRUE(watch->Read(&seen));
  EXPECT_EQ(seen.phase(), v1::PENDING);
  v1::CancelJobRequest cancel;
  cancel.set_job_id(job);
  v1::CancelJobResponse cancelled;
  ASSERT_OK(FromGrpc(stub_->CancelJob(Call().get(), cancel, &cancelled)));
  ASSERT_TRUE(watch->Read(&seen));
  EXPECT_EQ(seen.phase(), v1::CANCELLED);
  EXPECT_EQ(seen.exit_code(), 143);
  EXPECT_FALSE(watch->Read(&seen));
  EXPECT_OK(FromGrpc(watch->Finish()));

  request.set_job_id("nope");
  const auto missing_context = Call();
  const auto missing = stub_->WatchJob(missing_context.get(), request);
  EXPECT_FALSE(missing->Read(&seen));
  EXPECT_THAT(FromGrpc(missing->Finish()),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("nope")));
}

TEST_F(ServiceTest, AWatcherThatGoesAwayIsForgotten) {
  v1::WatchJobRequest request;
  request.set_job_id(Submit("one").value());
  const auto context = Call();
  const auto watch = stub_->WatchJob(context.get(), request);
  v1::Job seen;
  ASSERT_TRUE(watch->Read(&seen));
  context->TryCancel();
  EXPECT_FALSE(watch->Read(&seen));
  EXPECT_EQ(watch->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

// An agent by hand.
class Agent {
 public:
  explicit Agent(v1::Coordinator::Stub* stub) : context_(Call()) {
    stream_ = stub->Agent(context_.get());
  }

  void Report(const v1::NodeObserved& observed) { ASSERT_TRUE(stream_->Write(observed)); }
  bool Read() { return stream_->Read(&desired); }
  absl::Status Finish() { return FromGrpc(stream_->Finish()); }
  void Leave() { stream_->WritesDone(); }

  v1::NodeDesired desired;

 private:
  const std::unique_ptr<grpc::ClientContext> context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::NodeObserved, v1::NodeDesired>> stream_;
};

TEST_F(ServiceTest, RunsAJobThroughAnAgent) {
  Agent agent(stub_.get());
  agent.Report(Observed(1));
  ASSERT_TRUE(agent.Read());
  EXPECT_EQ(agent.desired.generations_size(), 0);
  EXPECT_EQ(agent.desired.heartbeat_ms(), 1000);
  const std::string job = Submit("one").value();
  ASSERT_TRUE(agent.Read());
  ASSERT_EQ(agent.desired.generations_size(), 1);
  EXPECT_EQ(agent.desired.generations(0).key().job_id(), job);
  v1::NodeObserved ended = Observed(2);
  v1::ObservedGeneration* part = ended.add_generations();
  part->set_job_id(job);
  part->set_generation(1);
  part->set_state(v1::ObservedGeneration::ENDED);
  part->add_workers()->mutable_exit()->set_kind(v1::ExitRecord::EXITED);
  agent.Report(ended);
  ASSERT_TRUE(agent.Read());
  EXPECT_EQ(agent.desired.forget_size(), 1);
  agent.Leave();
  EXPECT_FALSE(agent.Read());
  EXPECT_OK(agent.Finish());
}

TEST_F(ServiceTest, ANewerAgentTakesItsNodeOver) {
  Agent first(stub_.get());
  first.Report(Observed(1));
  ASSERT_TRUE(first.Read());
  Agent second(stub_.get());
  second.Report(Observed(1));
  ASSERT_TRUE(second.Read());
  EXPECT_FALSE(first.Read());
  EXPECT_THAT(first.Finish(), StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("newer")));
}

TEST_F(ServiceTest, AReportThatMakesNoSenseEndsTheStream) {
  Agent agent(stub_.get());
  agent.Report(v1::NodeObserved());
  EXPECT_FALSE(agent.Read());
  EXPECT_THAT(agent.Finish(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("node_id")));
}

class LogsTest : public ServiceTest {
 protected:
  LogsTest() : agent_(stub_.get()) {
    agent_.Report(Observed(1));
    EXPECT_TRUE(agent_.Read());
    job_ = Submit("one").value();
    EXPECT_TRUE(agent_.Read());
  }

  v1::ReadLogsRequest Request(int rank) {
    v1::ReadLogsRequest request;
    request.set_job_id(job_);
    request.set_rank(rank);
    request.set_follow(true);
    return request;
  }

  Agent agent_;
  std::string job_;
};

v1::LogChunk Chunk(const std::string& reader_id, const std::string& data, bool end) {
  v1::LogChunk chunk;
  chunk.set_reader_id(reader_id);
  chunk.set_stream(v1::STDOUT);
  chunk.set_data(data);
  chunk.set_end(end);
  return chunk;
}

TEST_F(LogsTest, OutputComesThrough) {
  const auto context = Call();
  const auto reader = stub_->ReadLogs(context.get(), Request(-1));
  ASSERT_TRUE(agent_.Read());
  ASSERT_EQ(agent_.desired.log_readers_size(), 1);
  const v1::LogReader wish = agent_.desired.log_readers(0);
  EXPECT_EQ(wish.job_id(), job_);
  EXPECT_EQ(wish.generation(), 1);
  EXPECT_TRUE(wish.follow());

  v1::RelayLogsResponse response;
  const auto relay_context = Call();
  const auto relay = stub_->RelayLogs(relay_context.get(), &response);
  ASSERT_TRUE(relay->Write(Chunk(wish.reader_id(), "one", false)));
  v1::LogChunk chunk;
  ASSERT_TRUE(reader->Read(&chunk));
  EXPECT_EQ(chunk.data(), "one");
  ASSERT_TRUE(relay->Write(Chunk(wish.reader_id(), "two", true)));
  relay->WritesDone();
  EXPECT_OK(FromGrpc(relay->Finish()));
  ASSERT_TRUE(reader->Read(&chunk));
  EXPECT_EQ(chunk.data(), "two");
  EXPECT_TRUE(chunk.end());
  EXPECT_FALSE(reader->Read(&chunk));
  EXPECT_OK(FromGrpc(reader->Finish()));
  // Nobody reads any more.
  ASSERT_TRUE(agent_.Read());
  EXPECT_EQ(agent_.desired.log_readers_size(), 0);
}

TEST_F(LogsTest, AReaderThatGoesAwayEndsItsRelay) {
  auto context = Call();
  const auto reader = stub_->ReadLogs(context.get(), Request(0));
  ASSERT_TRUE(agent_.Read());
  const std::string id = agent_.desired.log_readers(0).reader_id();
  v1::RelayLogsResponse response;
  const auto relay_context = Call();
  const auto relay = stub_->RelayLogs(relay_context.get(), &response);
  ASSERT_TRUE(relay->Write(Chunk(id, "one", false)));
  v1::LogChunk chunk;
  ASSERT_TRUE(reader->Read(&chunk));
  context->TryCancel();
  while (relay->Write(Chunk(id, "more", false))) {
  }
  EXPECT_FALSE(relay->Finish().ok());
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(LogsTest, ARelayThatBreaksIsShown) {
  const auto context = Call();
  const auto reader = stub_->ReadLogs(context.get(), Request(0));
  ASSERT_TRUE(agent_.Read());
  const std::string id = agent_.desired.log_readers(0).reader_id();
  v1::RelayLogsResponse response;
  const auto relay_context = Call();
  const auto relay = stub_->RelayLogs(relay_context.get(), &response);
  ASSERT_TRUE(relay->Write(Chunk(id, "one", false)));
  v1::LogChunk chunk;
  ASSERT_TRUE(reader->Read(&chunk));
  relay->WritesDone();
  relay->Finish();
  ASSERT_TRUE(reader->Read(&chunk));
  EXPECT_TRUE(chunk.end());
  EXPECT_THAT(chunk.error(), HasSubstr("stopped relaying"));
  EXPECT_FALSE(reader->Read(&chunk));
  EXPECT_OK(FromGrpc(reader->Finish()));
}

TEST_F(LogsTest, SaysWhatIsNotThere) {
  const auto ended = [this](v1::ReadLogsRequest request) {
    const auto context = Call();
    const auto reader = stub_->ReadLogs(context.get(), request);
    v1::LogChunk chunk;
    EXPECT_FALSE(reader->Read(&chunk));
    return FromGrpc(reader->Finish());
  };
  EXPECT_THAT(ended(Request(7)), StatusIs(absl::StatusCode::kNotFound, HasSubstr("no rank 7")));
  v1::ReadLogsRequest request = Request(0);
  request.set_generation(9);
  EXPECT_THAT(ended(request), StatusIs(absl::StatusCode::kNotFound, HasSubstr("generation 9")));
  request.set_job_id("nope");
  EXPECT_THAT(ended(request), StatusIs(absl::StatusCode::kNotFound, HasSubstr("no job nope")));
  agent_.Leave();
  EXPECT_FALSE(agent_.Read());
  EXPECT_OK(agent_.Finish());
  // The stream is closed for the agent before the loop has heard of it.
  absl::Status status = ended(Request(0));
  while (status.ok()) status = ended(Request(0));
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnavailable, HasSubstr("node a")));
}

TEST_F(LogsTest, AnUnknownRelayIsRefused) {
  v1::RelayLogsResponse response;
  const auto context = Call();
  const auto relay = stub_->RelayLogs(context.get(), &response);
  ASSERT_TRUE(relay->Write(Chunk("r99-0", "x", false)));
  EXPECT_THAT(FromGrpc(relay->Finish()),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("nobody reads")));
}

TEST(ServerTest, RefusesWhatItCannotServe) {
  ServerOptions options;
  options.listen = "0.0.0.0:0";
  options.token = kToken;
  EXPECT_THAT(Server::Start(std::move(options)),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("this machine only")));
  ServerOptions first;
  first.listen = "127.0.0.1:0";
  first.token = kToken;
  const auto server = Server::Start(std::move(first));
  ASSERT_OK(server);
  ServerOptions second;
  second.listen = (*server)->address();
  second.token = kToken;
  EXPECT_THAT(Server::Start(std::move(second)),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("cannot listen on")));
}

TEST(ServerTest, EndsWithCallsUnderWay) {
  ServerOptions options;
  options.listen = "127.0.0.1:0";
  options.token = kToken;
  auto server = Server::Start(std::move(options));
  ASSERT_OK(server);
  const auto stub = v1::Coordinator::NewStub(
      grpc::CreateChannel((*server)->address(), grpc::InsecureChannelCredentials()));
  Agent agent(stub.get());
  agent.Report(Observed(1));
  ASSERT_TRUE(agent.Read());
  server->reset();
  EXPECT_FALSE(agent.Read());
  EXPECT_THAT(agent.Finish(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("ending")));
}

}  // namespace
}  // namespace accel
