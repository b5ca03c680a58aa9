#include "coordinator/service_fixture.h"

namespace accel::coordinator {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

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
  EXPECT_THAT(agent.Finish(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("shutting down")));
}

}  // namespace
}  // namespace accel::coordinator
