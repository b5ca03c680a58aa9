#include "coordinator/service_fixture.h"

namespace accel::coordinator {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

ServerOptions ListenAt(const std::string& address) {
  ServerOptions options;
  options.listen = address;
  options.tcp_credentials = grpc::InsecureServerCredentials();  // No connection is made.
  return options;
}

TEST(ServerTest, RefusesWhatItCannotServe) {
  const auto server = Server::Start(ListenAt("127.0.0.1:0"));
  ASSERT_OK(server);
  EXPECT_THAT(Server::Start(ListenAt((*server)->address())),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("cannot listen on")));
}

TEST(ServerTest, EndsWithCallsUnderWay) {
  const SocketFolder folder;
  ServerOptions options;
  options.socket = folder.socket();
  auto server = Server::Start(std::move(options));
  ASSERT_OK(server);
  const auto stub = v1::Coordinator::NewStub(folder.Connect());
  Agent agent(stub.get());
  agent.Report(Observed(1));
  ASSERT_TRUE(agent.Read());
  server->reset();
  EXPECT_FALSE(agent.Read());
  EXPECT_THAT(agent.Finish(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("shutting down")));
}

}  // namespace
}  // namespace accel::coordinator
