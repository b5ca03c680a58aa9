#include "agent/grpc_link.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/reserved_port.h"
#include "common/status_matchers.h"
#include "proto/service.grpc.pb.h"

namespace accel::agent {
namespace {

using testing::StatusIs;

constexpr int kTimeoutMs = 20'000;

using ServerStream = grpc::ServerReaderWriter<v1::NodeDesired, v1::NodeObserved>;
// The coordinator's side of one session. Its result ends the stream.
using Session = std::function<grpc::Status(ServerStream*)>;

// Serves the n-th stream with the n-th session, and later ones with the last.
class FakeService final : public v1::Coordinator::Service {
 public:
  explicit FakeService(std::vector<Session> sessions) : sessions_(std::move(sessions)) { Start(); }
  ~FakeService() override { Stop(); }

  std::string address() const { return port_.address(); }

  void Start() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address(), grpc::InsecureServerCredentials());
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
  }
  // Acts as if the process had ended: connections are closed, and new ones are refused.
  void Stop() {
    if (server_ != nullptr) server_->Shutdown(std::chrono::system_clock::now());
    server_ = nullptr;
  }

  grpc::Status Agent(grpc::ServerContext*, ServerStream* stream) override {
    const size_t now = std::min(next_, sessions_.size() - 1);
    ++next_;
    return sessions_[now](stream);
  }

 private:
  const std::vector<Session> sessions_;
  size_t next_ = 0;  // The link opens one stream at a time.
  const common::ReservedPort port_;
  std::unique_ptr<grpc::Server> server_;
};

// Answers each report with a desired state whose version is the report's sequence.
grpc::Status Echo(ServerStream* stream) {
  v1::NodeObserved observed;
  while (stream->Read(&observed)) {
    v1::NodeDesired desired;
    desired.set_version(observed.sequence());
    stream->Write(desired);
  }
  return grpc::Status::OK;
}

// Returns a session that does this once and ends with `end` at the next report. Until then the test
// can take the answer, which is lost when a later session begins.
Session EchoOnce(grpc::Status end) {
  return [end](ServerStream* stream) {
    v1::NodeObserved observed;
    stream->Read(&observed);
    v1::NodeDesired desired;
    desired.set_version(observed.sequence());
    stream->Write(desired);
    stream->Read(&observed);
    return end;
  };
}

Session Refuse(grpc::StatusCode code) {
  return [code](ServerStream*) { return grpc::Status(code, "refused"); };
}

std::shared_ptr<grpc::Channel> ChannelTo(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

v1::NodeObserved Report(uint64_t sequence) {
  v1::NodeObserved observed;
  observed.set_sequence(sequence);
  return observed;
}

// Waits for the link's news until `done` returns true. Stores a desired state that arrives
// meanwhile in `desired`.
bool Await(GrpcLink* link, const std::function<bool()>& done,
           std::optional<v1::NodeDesired>* desired = nullptr) {
  uint64_t newest = 0;
  while (true) {
    // An answer may be the last thing that a session brings.
    if (const uint64_t session = link->session(); session != 0) newest = session;
    std::optional<v1::NodeDesired> came = link->TakeDesired(newest);
    if (came.has_value() && desired != nullptr) *desired = std::move(came);
    if (done()) return true;
    pollfd news = {link->wake_fd(), POLLIN, 0};
    if (poll(&news, 1, kTimeoutMs) != 1) return false;
  }
}

// Reports in each new session until a desired state with the report's number has arrived.
// Returns its session.
uint64_t Exchange(GrpcLink* link, uint64_t sequence) {
  std::optional<v1::NodeDesired> desired;
  uint64_t reported_in = 0;
  const bool done = Await(
      link,
      [&] {
        if (desired.has_value() && desired->version() == sequence) return true;
        const uint64_t session = link->session();
        if (session != 0 && session != std::exchange(reported_in, session)) {
          link->Report(Report(sequence));
        }
        return false;
      },
      &desired);
  EXPECT_TRUE(done) << "no answer to report " << sequence;
  return reported_in;
}

// Waits for a session after `first` without taking anything. Returns false if none comes.
bool AwaitSession(GrpcLink* link, uint64_t first) {
  for (int i = 0; i < kTimeoutMs; ++i) {
    if (link->session() > first) return true;
    absl::SleepFor(absl::Milliseconds(1));
  }
  return false;
}

TEST(GrpcLink, ReportsGoUpAndDesiredStatesComeDown) {
  FakeService service({Echo});
  GrpcLink link(ChannelTo(service.address()));
  const uint64_t session = Exchange(&link, 7);
  EXPECT_GT(session, 0u);
  EXPECT_EQ(Exchange(&link, 8), session);
  EXPECT_OK(link.fatal());
}

TEST(GrpcLink, AStreamThatEndsIsANewSession) {
  FakeService service({EchoOnce(grpc::Status::OK), Echo});
  GrpcLink link(ChannelTo(service.address()));
  const uint64_t first = Exchange(&link, 1);
  EXPECT_GT(Exchange(&link, 2), first);
}

TEST(GrpcLink, ASessionKeepsItsChannelAndTheNextOneUsesTheNewest) {
  FakeService old({EchoOnce(grpc::Status::OK), Refuse(grpc::StatusCode::UNAVAILABLE)});
  FakeService fresh({Echo});
  const auto channels =
      std::make_shared<SessionChannels>([&old] { return ChannelTo(old.address()); });
  GrpcLink link(channels);
  ASSERT_TRUE(AwaitSession(&link, 0));
  const std::shared_ptr<grpc::Channel> present = channels->present();
  channels->Offer([&fresh] { return ChannelTo(fresh.address()); });
  EXPECT_EQ(channels->present(), present);
  EXPECT_EQ(link.session(), 1u);
  Exchange(&link, 7);
  // The second report ends the first session.
  Exchange(&link, 8);
  EXPECT_EQ(channels->present(), channels->newest());
  EXPECT_NE(channels->present(), present);
}

TEST(GrpcLink, WhatAnEarlierSessionHasSaidIsNotTakenInALaterOne) {
  FakeService service({Echo});
  GrpcLink link(ChannelTo(service.address()));
  const uint64_t first = Exchange(&link, 1);
  link.Report(Report(2));
  pollfd news = {link.wake_fd(), POLLIN, 0};
  ASSERT_EQ(poll(&news, 1, kTimeoutMs), 1);  // The answer is there, and is not taken.
  service.Stop();
  service.Start();
  ASSERT_TRUE(AwaitSession(&link, first));
  EXPECT_FALSE(link.TakeDesired(first).has_value());
  EXPECT_FALSE(link.TakeDesired(link.session()).has_value());
  EXPECT_GT(Exchange(&link, 3), first);
}

TEST(GrpcLink, NoCallBlocksWithoutACoordinator) {
  const common::ReservedPort nobody;
  auto whole_life = std::async(std::launch::async, [&] {
    GrpcLink link(ChannelTo(nobody.address()));
    for (uint64_t i = 1; i <= 100; ++i) {
      link.session();
      link.Report(Report(i));
      EXPECT_FALSE(link.TakeDesired(link.session()).has_value());
      EXPECT_OK(link.fatal());
    }
  });
  ASSERT_EQ(whole_life.wait_for(std::chrono::milliseconds(kTimeoutMs)), std::future_status::ready);
}

TEST(GrpcLink, ReconnectsToACoordinatorThatRestarts) {
  FakeService service({Echo});
  GrpcLink link(ChannelTo(service.address()));
  uint64_t session = Exchange(&link, 1);
  for (uint64_t times = 2; times <= 4; ++times) {
    service.Stop();
    ASSERT_TRUE(Await(&link, [&] { return link.session() != session; }));
    service.Start();
    session = Exchange(&link, times);
  }
}

TEST(GrpcLink, AnUnansweredStreamDoesNotDelayTheDestructor) {
  std::promise<void> entered;
  FakeService service({[&](ServerStream* stream) {
    entered.set_value();
    v1::NodeObserved observed;
    while (stream->Read(&observed)) continue;
    return grpc::Status::OK;
  }});
  auto link = std::make_unique<GrpcLink>(ChannelTo(service.address()));
  entered.get_future().wait();
  auto end = std::async(std::launch::async, [&] { link.reset(); });
  ASSERT_EQ(end.wait_for(std::chrono::milliseconds(kTimeoutMs)), std::future_status::ready);
}

TEST(GrpcLink, ARefusalByTheFirstCoordinatorIsFatal) {
  FakeService service({Refuse(grpc::StatusCode::UNAUTHENTICATED)});
  GrpcLink link(ChannelTo(service.address()));
  EXPECT_TRUE(Await(&link, [&] { return !link.fatal().ok(); }));
  EXPECT_THAT(link.fatal(), StatusIs(absl::StatusCode::kUnauthenticated, "refused"));
}

TEST(GrpcLink, ANodeThatWasAdmittedOnceTriesAgain) {
  FakeService service({EchoOnce(grpc::Status::OK), Refuse(grpc::StatusCode::UNAUTHENTICATED),
                       Refuse(grpc::StatusCode::UNIMPLEMENTED), Echo});
  GrpcLink link(ChannelTo(service.address()));
  Exchange(&link, 1);
  Exchange(&link, 2);
  EXPECT_OK(link.fatal());
}

// The old one would connect again by itself during the pause.
TEST(GrpcLink, ARefusalIsFollowedByANewChannelAndALossIsNot) {
  FakeService service({EchoOnce(grpc::Status::OK), EchoOnce(grpc::Status::OK),
                       Refuse(grpc::StatusCode::UNAUTHENTICATED), Echo});
  int opened = 0;
  const auto channels = std::make_shared<SessionChannels>([&] {
    ++opened;
    return ChannelTo(service.address());
  });
  const auto first = channels->present();
  {
    GrpcLink link(channels);
    Exchange(&link, 1);
    Exchange(&link, 2);
    Exchange(&link, 3);
  }
  EXPECT_EQ(opened, 2);
  EXPECT_NE(channels->present(), first);
  EXPECT_EQ(channels->present(), channels->newest());
}

TEST(NextReportBytes, HalvesDownToABoundAndResetsAfterAnyOtherEnd) {
  const absl::Status too_large = absl::ResourceExhaustedError("larger than max");
  EXPECT_EQ(NextReportBytes(kMaxReportBytes, too_large), kMaxReportBytes / 2);
  EXPECT_EQ(NextReportBytes(70 << 10, too_large), 64 << 10);
  EXPECT_EQ(NextReportBytes(64 << 10, too_large), 64 << 10);
  EXPECT_EQ(NextReportBytes(64 << 10, absl::UnavailableError("gone")), kMaxReportBytes);
  EXPECT_EQ(NextReportBytes(64 << 10, absl::OkStatus()), kMaxReportBytes);
}

TEST(GrpcLink, ARefusedReportIsFollowedByASmallerOne) {
  const auto echo_to_2 = [](ServerStream* stream) {
    v1::NodeObserved observed;
    v1::NodeDesired desired;
    while (stream->Read(&observed) && observed.sequence() != 2) {
      desired.set_version(observed.sequence());
      stream->Write(desired);
    }
    return grpc::Status::OK;
  };
  FakeService service({Refuse(grpc::StatusCode::RESOURCE_EXHAUSTED), echo_to_2, Echo});
  GrpcLink link(ChannelTo(service.address()));
  const uint64_t second = Exchange(&link, 1);
  EXPECT_EQ(link.max_report_bytes(), kMaxReportBytes / 2);
  link.Report(Report(2));
  EXPECT_TRUE(Await(&link, [&] { return link.session() > second; }));
  EXPECT_EQ(link.max_report_bytes(), kMaxReportBytes);
}

TEST(GrpcLink, AnotherAgentOfThisNodeIsFatalAtAnyTime) {
  FakeService service({EchoOnce(grpc::Status::OK), Refuse(grpc::StatusCode::ALREADY_EXISTS)});
  GrpcLink link(ChannelTo(service.address()));
  Exchange(&link, 1);
  link.Report(Report(2));
  EXPECT_TRUE(Await(&link, [&] { return !link.fatal().ok(); }));
  EXPECT_THAT(link.fatal(), StatusIs(absl::StatusCode::kAlreadyExists, "refused"));
}

}  // namespace
}  // namespace accel::agent
