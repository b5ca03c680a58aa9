// The gRPC service over a real channel.

#include <string>
#include <tuple>
#include <vector>

#include "coordinator/any_method_fixture.h"

namespace accel::coordinator {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

ServerOptions WithStrangersOnly() {
  ServerOptions options;
  options.identify = [](const grpc::ServerContextBase&) -> absl::StatusOr<Caller> {
    return absl::UnauthenticatedError("who is it?");
  };
  return options;
}

class StrangerTest : public AnyMethodTest {
 protected:
  StrangerTest() : AnyMethodTest(WithStrangersOnly()) {}
};

TEST_F(StrangerTest, EveryCallNeedsACallerBeforeItsMessageIsLookedAt) {
  ASSERT_EQ(Methods().size(), 18u);
  for (const std::string& method : Methods()) {
    EXPECT_THAT(CallByName(method, "", "\xff\xff\xff\xff garbage"),
                StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("who is it?")))
        << method;
  }
}

TEST_F(AnyMethodTest, MalformedInputIsRefusedAndHarmless) {
  for (const std::string& method : Methods()) {
    EXPECT_THAT(CallByName(method, "", "\xff\xff\xff\xff garbage"),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("same version")))
        << method;
  }
  EXPECT_OK(Submit("still-alive"));
}

TEST_F(AnyMethodTest, WhatWouldGrowInMemoryIsRefusedBeforeItDoes) {
  // Each empty argument and each empty generation takes two bytes here and many in memory.
  v1::SubmitJobRequest submit;
  for (int i = 0; i < 1'000'000; ++i) submit.mutable_spec()->add_argv();
  v1::NodeObserved report = Observed(1);
  for (int i = 0; i < 1'500'000; ++i) report.add_generations();
  v1::ListJobsRequest list;
  list.set_job_id(std::string(5000, 'x'));
  v1::DrainNodeRequest drain;
  drain.set_node(std::string(5000, 'x'));
  v1::LogChunk chunk;
  chunk.set_data(std::string(200'000, 'x'));
  const std::vector<std::tuple<std::string, std::string, std::string>> cases = {
      {"Coordinator/SubmitJob", submit.SerializeAsString(), "65536 elements"},
      {"Coordinator/Agent", report.SerializeAsString(), "1000000 elements"},
      {"Coordinator/ListJobs", list.SerializeAsString(), "4096 bytes"},
      {"Operations/DrainNode", drain.SerializeAsString(), "4096 bytes"},
      {"Coordinator/RelayLogs", chunk.SerializeAsString(), "LogChunk: has more than 73728 bytes"},
  };
  for (const auto& [method, bytes, says] : cases) {
    EXPECT_THAT(CallByName(method, "", bytes),
                StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr(says)));
  }
}

TEST_F(AnyMethodTest, TooLargeIsRefused) {
  EXPECT_THAT(CallByName("Coordinator/SubmitJob", "", std::string(size_t{17} << 20, 'x')),
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
  ASSERT_OK(common::FromGrpc(stub_->ListJobs(Call().get(), request, &response)));
  ASSERT_EQ(response.jobs_size(), 1);
  EXPECT_EQ(response.jobs(0).job_id(), job);
  EXPECT_EQ(response.jobs(0).spec().env_size(), 0);
  request.set_job_id(job);
  ASSERT_OK(common::FromGrpc(stub_->ListJobs(Call().get(), request, &response)));
  EXPECT_EQ(response.jobs(0).spec().env_size(), 1);
  request.set_job_id("nope");
  EXPECT_THAT(common::FromGrpc(stub_->ListJobs(Call().get(), request, &response)),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("nope")));
  v1::ListNodesResponse nodes;
  ASSERT_OK(common::FromGrpc(stub_->ListNodes(Call().get(), {}, &nodes)));
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
  ASSERT_OK(common::FromGrpc(stub_->CancelJob(Call().get(), cancel, &cancelled)));
  ASSERT_TRUE(watch->Read(&seen));
  EXPECT_EQ(seen.phase(), v1::CANCELLED);
  EXPECT_EQ(seen.exit_code(), 143);
  EXPECT_FALSE(watch->Read(&seen));
  EXPECT_OK(common::FromGrpc(watch->Finish()));

  request.set_job_id("nope");
  const auto missing_context = Call();
  const auto missing = stub_->WatchJob(missing_context.get(), request);
  EXPECT_FALSE(missing->Read(&seen));
  EXPECT_THAT(common::FromGrpc(missing->Finish()),
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

TEST_F(ServiceTest, RunsAJobThroughAnAgent) {
  Agent agent(stub_.get());
  agent.Report(Observed(1));
  ASSERT_TRUE(agent.Read());
  EXPECT_EQ(agent.desired.generations_size(), 0);
  EXPECT_EQ(agent.desired.heartbeat_ms(), 2000);
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
  v1::ListJobsRequest list;
  list.set_job_id(job);
  v1::ListJobsResponse listed;
  ASSERT_OK(common::FromGrpc(stub_->ListJobs(Call().get(), list, &listed)));
  EXPECT_EQ(listed.jobs(0).phase(), v1::SUCCEEDED);
  EXPECT_FALSE(listed.jobs(0).has_cause());
  EXPECT_FALSE(listed.jobs(0).generations(0).has_cause());
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

}  // namespace
}  // namespace accel::coordinator
