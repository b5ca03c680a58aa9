// The machine that serves and the others, over real connections on loopback.
#include "cli/machines/run_server.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <functional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "cli/machines/run_client.h"
#include "cli/machines/run_trust.h"
#include "common/status_matchers.h"
#include "coordinator/coordinator_loop.h"
#include "coordinator/store/memory_store.h"
#include "proto/service.grpc.pb.h"

namespace accel::cli {
namespace {

using accel::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kSecret[] = "a secret of the machines of one launch";

v1::RunMachine Machine(const std::string& host) {
  v1::RunMachine machine;
  machine.set_host(host);
  machine.set_address("127.0.0.1");
  machine.set_version("1");
  return machine;
}

class RunServerTest : public ::testing::Test {
 protected:
  RunServerTest() : loop_({.store = &store_}) {
    EXPECT_OK(loop_.Load());
    loop_.Start();
  }
  ~RunServerTest() override {
    loop_.Stop();
    server_.reset();
  }

  void Serve(int machines) {
    place_.host = "127.0.0.1";
    place_.machines = machines;
    place_.timeout = absl::Seconds(20);
    ASSERT_OK_AND_ASSIGN(hub_, RunHub::Make("run", machines, Machine("h1")));
    ASSERT_OK_AND_ASSIGN(auto listener, coordinator::ListenOn({.host = "127.0.0.1", .port = "0"}));
    place_.port = absl::StrCat(listener.port);
    ASSERT_OK_AND_ASSIGN(const auto authority, AuthorityOf(place_, kSecret));
    // The clock of this machine is a day behind.
    ASSERT_OK_AND_ASSIGN(auto tls, MakeServerTls(authority, absl::Now() - absl::Hours(24)));
    ASSERT_OK_AND_ASSIGN(server_,
                         RunServer::Start(std::move(listener), std::move(tls), hub_.get(), &loop_));
  }

  std::shared_ptr<grpc::Channel> Channel(const std::string& secret = kSecret) {
    const auto authority = AuthorityOf(place_, secret);
    const auto identity = MakeClientIdentity(*authority, "node", absl::Now() + absl::Hours(24));
    EXPECT_OK(identity.status());
    return OpenRunChannel({place_.text()}, *identity);
  }

  std::unique_ptr<RunClient> Join(const std::string& host, const std::string& secret = kSecret) {
    return std::make_unique<RunClient>(Channel(secret), Machine(host), place_, "in a file");
  }

  // Waits until the news are so, or the stream has ended. Returns the news.
  static v1::RunNews Await(RunClient* client, const std::function<bool(const v1::RunNews&)>& so) {
    while (true) {
      client->wake().Clear();
      const auto news = client->news();
      if (news.has_value() && so(*news)) return *news;
      if (!client->ended().ok()) {
        ADD_FAILURE() << client->ended();
        return {};
      }
      pollfd ready = {client->wake().get(), POLLIN, 0};
      if (poll(&ready, 1, 20'000) == 0) {
        ADD_FAILURE() << "no news for 20 s";
        return {};
      }
    }
  }
  static absl::Status AwaitEnd(RunClient* client) {
    while (client->ended().ok()) {
      client->wake().Clear();
      pollfd ready = {client->wake().get(), POLLIN, 0};
      if (client->ended().ok() && poll(&ready, 1, 20'000) == 0) return absl::OkStatus();
    }
    return client->ended();
  }

  coordinator::MemoryStore store_;
  coordinator::CoordinatorLoop loop_;
  MeetingPlace place_;
  std::unique_ptr<RunHub> hub_;
  std::unique_ptr<RunServer> server_;
};

TEST_F(RunServerTest, MachinesOfOneSecretMeet) {
  Serve(3);
  const auto second = Join("h2");
  const v1::RunNews news = Await(second.get(), [](const auto& n) { return n.present_size() == 2; });
  EXPECT_THAT(news.present(), ElementsAre("h1", "h2"));
  EXPECT_EQ(news.placement_order(), 0);
  const auto third = Join("h2");
  const v1::RunNews complete =
      Await(third.get(), [](const auto& n) { return n.placement_order() > 0; });
  EXPECT_EQ(complete.node_name(), "h2-2");
  EXPECT_TRUE(hub_->complete());
  v1::Job job;
  job.set_job_id("j1");
  job.mutable_spec()->add_env()->set_name("SECRET");
  hub_->SetJob(job);
  const v1::RunNews with_job = Await(second.get(), [](const auto& n) { return n.has_job(); });
  EXPECT_EQ(with_job.job().job_id(), "j1");
  EXPECT_EQ(with_job.job().spec().env_size(), 0);
}

TEST_F(RunServerTest, AnotherSecretOrAnotherLaunchIsNotAdmitted) {
  Serve(2);
  const auto stranger = Join("h2", "another secret of other machines");
  EXPECT_THAT(AwaitEnd(stranger.get()),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("has another key"), Not(HasSubstr("another secret")))));
  place_.id = "another launch";
  const auto other = Join("h2");
  EXPECT_THAT(AwaitEnd(other.get()), StatusIs(absl::StatusCode::kFailedPrecondition,
                                              HasSubstr("or serves another launch")));
  EXPECT_EQ(hub_->others(), 0);
}

TEST_F(RunServerTest, RefusalsReachTheMachine) {
  Serve(2);
  const auto second = Join("h2");
  Await(second.get(), [](const auto& n) { return n.placement_order() > 0; });
  const auto third = Join("h3");
  EXPECT_THAT(AwaitEnd(third.get()),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("its 2 machines")));
}

TEST_F(RunServerTest, SignalsAndEndsTravel) {
  Serve(2);
  auto second = Join("h2");
  Await(second.get(), [](const auto& n) { return n.placement_order() > 0; });
  second->Signal(2, /*at_once=*/true);
  std::vector<RunHub::Interrupt> interrupts;
  while (interrupts.empty()) {
    pollfd ready = {hub_->wake().get(), POLLIN, 0};
    ASSERT_EQ(poll(&ready, 1, 20'000), 1);
    hub_->wake().Clear();
    interrupts = hub_->TakeInterrupts();
  }
  EXPECT_EQ(interrupts[0].host, "h2");
  EXPECT_EQ(interrupts[0].signal, 2);
  EXPECT_TRUE(interrupts[0].at_once);
  hub_->End("machine h1: Terminated", 15);
  const v1::RunNews end = Await(second.get(), [](const auto& n) { return !n.ended_by().empty(); });
  EXPECT_EQ(end.ended_by(), "machine h1: Terminated");
  EXPECT_EQ(end.signal(), 15);
}

TEST_F(RunServerTest, AMachineThatGoesIsNamed) {
  Serve(2);
  auto second = Join("h2");
  Await(second.get(), [](const auto& n) { return n.placement_order() > 0; });
  EXPECT_EQ(hub_->gone(), "");
  second.reset();
  while (hub_->gone().empty()) {
    pollfd ready = {hub_->wake().get(), POLLIN, 0};
    ASSERT_EQ(poll(&ready, 1, 20'000), 1);
    hub_->wake().Clear();
  }
  EXPECT_EQ(hub_->gone(), "machine h2 (127.0.0.1) is gone: its connection has ended");
}

TEST_F(RunServerTest, TheEndOfTheServerIsNamed) {
  Serve(3);
  const auto second = Join("h2");
  Await(second.get(), [](const auto&) { return true; });
  loop_.Stop();
  server_.reset();
  EXPECT_THAT(AwaitEnd(second.get()), Not(StatusIs(absl::StatusCode::kOk, HasSubstr(""))));
}

// A certificate of the launch is an agent of this run and nothing else.
TEST_F(RunServerTest, NoOtherCallIsServed) {
  Serve(2);
  const auto stub = v1::Coordinator::NewStub(Channel());
  grpc::ClientContext submit;
  v1::SubmitJobResponse submitted;
  EXPECT_EQ(stub->SubmitJob(&submit, {}, &submitted).error_code(), grpc::UNIMPLEMENTED);
  grpc::ClientContext list;
  v1::ListJobsResponse listed;
  EXPECT_EQ(stub->ListJobs(&list, {}, &listed).error_code(), grpc::UNIMPLEMENTED);
  grpc::ClientContext agent;
  const auto stream = stub->Agent(&agent);
  v1::NodeObserved report;
  stream->Write(report);
  v1::NodeDesired desired;
  EXPECT_FALSE(stream->Read(&desired));
  EXPECT_EQ(stream->Finish().error_code(), grpc::INVALID_ARGUMENT);  // The report has no node_id.
}

}  // namespace
}  // namespace accel::cli
