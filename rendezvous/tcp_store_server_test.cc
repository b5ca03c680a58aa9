#include "rendezvous/tcp_store_server.h"

#include <fcntl.h>
#include <sys/resource.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/status_matchers.h"
#include "rendezvous/core/request_encoder.h"
#include "rendezvous/listen_socket.h"
#include "rendezvous/test_client.h"

namespace accel::rendezvous {
namespace {

using ::accel::rendezvous::QueryType;
using ::accel::rendezvous::WaitResponse;
using ::accel::rendezvous::testing::TestClient;
using ::accel::testing::StatusIs;
using ::testing::_;
using ::testing::HasSubstr;
namespace wire = ::accel::rendezvous::testing;

const std::string kStop = wire::Raw(WaitResponse::kStopWaiting);

class TcpStoreServerTest : public ::testing::Test {
 protected:
  void Start(TcpStoreServer::Options options = {}) {
    auto socket = ListenOn("127.0.0.1");
    ASSERT_OK(socket);
    port_ = *PortOf(*socket);
    options.listen_socket = std::move(*socket);
    auto server = TcpStoreServer::Start(std::move(options));
    ASSERT_OK(server);
    server_ = std::move(*server);
  }

  // Returns a client that is connected and known to be served.
  TestClient Client() {
    TestClient client(port_);
    client.Send(wire::Validate());
    EXPECT_TRUE(Alive(&client));
    return client;
  }
  static bool Alive(TestClient* client) {
    return client->Send(wire::Ping(77)) && client->Receive(4) == wire::Raw<uint32_t>(77);
  }
  static std::string Ask(TestClient* client, const std::string& query, size_t reply_size) {
    client->Send(query);
    return client->Receive(reply_size);
  }

  uint16_t port_ = 0;
  std::unique_ptr<TcpStoreServer> server_;
};

TEST_F(TcpStoreServerTest, RefusesWhatItCannotServe) {
  EXPECT_THAT(TcpStoreServer::Start({}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not a listening socket")));
  TcpStoreServer::Options named;
  named.listen_socket = std::move(*ListenOn("127.0.0.1"));
  named.allowed_peers = {"localhost"};
  EXPECT_THAT(TcpStoreServer::Start(std::move(named)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("localhost")));
}

TEST_F(TcpStoreServerTest, ClientsShareOneStore) {
  Start();
  TestClient one = Client(), other = Client();
  one.Send(wire::Set("k", "v"));
  ASSERT_TRUE(Alive(&one));  // The set has been performed.
  EXPECT_EQ(Ask(&other, wire::Get("k"), 9), wire::Encoded("v"));
  EXPECT_EQ(server_->counters().accepted, 2u);
}

TEST_F(TcpStoreServerTest, ServesASocketThatWasBlockingAndConnectionsFromBeforeTheStart) {
  auto socket = ListenOn("127.0.0.1");
  ASSERT_OK(socket);
  port_ = *PortOf(*socket);
  ASSERT_EQ(fcntl(socket->get(), F_SETFL, 0), 0);
  TestClient early(port_);
  early.Send(wire::Validate() + wire::Ping(5));
  TcpStoreServer::Options options;
  options.listen_socket = std::move(*socket);
  auto server = TcpStoreServer::Start(std::move(options));
  ASSERT_OK(server);
  EXPECT_EQ(early.Receive(4), wire::Raw<uint32_t>(5));
  (*server)->Stop();
}

TEST_F(TcpStoreServerTest, StopEndsEveryConnectionAndFreesThePort) {
  Start();
  TestClient idle = Client(), waiting = Client();
  waiting.Send(wire::Wait({"never"}));
  server_->Stop();
  EXPECT_TRUE(idle.SeesEnd());
  EXPECT_TRUE(waiting.SeesEnd());
  EXPECT_FALSE(TestClient().Connect(port_));
  server_->Stop();
}

TEST_F(TcpStoreServerTest, ClosesPeersThatAreNotAllowed) {
  TcpStoreServer::Options options;
  options.allowed_peers = {"192.0.2.1"};
  Start(std::move(options));
  TestClient client(port_);
  EXPECT_TRUE(client.SeesEnd());
  EXPECT_EQ(server_->counters().refused_peers, 1u);
  EXPECT_EQ(server_->counters().accepted, 0u);
}

TEST_F(TcpStoreServerTest, ClosesWhatIsOverTheConnectionLimit) {
  TcpStoreServer::Options options;
  options.max_connections = 2;
  Start(std::move(options));
  TestClient one = Client(), two = Client();
  EXPECT_TRUE(TestClient(port_).SeesEnd());
  EXPECT_EQ(server_->counters().refused_over_limit, 1u);
  EXPECT_TRUE(Alive(&one));
  // A place that becomes free can be used again.
  two.EndSending();
  EXPECT_TRUE(two.SeesEnd());
  Client();
}

TEST_F(TcpStoreServerTest, InvalidRequestsCloseOnlyTheirConnection) {
  Start();
  TestClient good = Client();
  const std::vector<std::string> broken = {
      "GET / HTTP/1.1\r\n\r\n",
      wire::Validate(1),
      wire::Validate() + wire::Validate(),
      wire::Validate() + std::string(1, '\x12'),
      wire::Validate() + std::string(1, '\xff'),
      wire::Validate() + wire::Raw(QueryType::kGet) + wire::Raw(~uint64_t{0}),
      wire::Validate() + wire::Query(QueryType::kSet, "k") + wire::Raw(uint64_t{1} << 40),
      wire::Validate() + wire::Raw(QueryType::kWait) + wire::Raw(uint64_t{1} << 40),
  };
  for (const std::string& bytes : broken) {
    TestClient bad(port_);
    bad.Send(bytes);
    EXPECT_TRUE(bad.SeesEnd());
  }
  EXPECT_EQ(server_->counters().closed_bad_request, broken.size());
  EXPECT_TRUE(Alive(&good));
}

TEST_F(TcpStoreServerTest, AnAddToANonNumberClosesOnlyItsConnection) {
  Start();
  TestClient good = Client(), bad = Client();
  bad.Send(wire::Set("k", "text") + wire::Add("k", 1));
  EXPECT_TRUE(bad.SeesEnd());
  EXPECT_EQ(Ask(&good, wire::Get("k"), 12), wire::Encoded("text"));
}

TEST_F(TcpStoreServerTest, AHalfRequestIsDroppedWithItsConnection) {
  Start();
  TestClient good = Client();
  const std::string set = wire::Set("k", "value");
  for (size_t size = 1; size < set.size(); ++size) {
    TestClient half = Client();
    half.Send(set.substr(0, size));
    half.EndSending();
    EXPECT_TRUE(half.SeesEnd());
  }
  EXPECT_EQ(server_->counters().closed_bad_request, set.size() - 1);
  EXPECT_EQ(Ask(&good, wire::Get("k"), 8), wire::Encoded(""));
}

TEST_F(TcpStoreServerTest, ARequestByteByByte) {
  Start();
  TestClient client = Client();
  for (const char byte : wire::Set("k", "value") + wire::Get("k")) {
    client.Send(absl::string_view(&byte, 1));
  }
  EXPECT_EQ(client.Receive(13), wire::Encoded("value"));
}

TEST_F(TcpStoreServerTest, RequestsSentBeforeTheEndArePerformed) {
  Start();
  TestClient reader = Client();
  TestClient client(port_);
  client.Send(wire::Validate() + wire::Set("k", "v") + wire::Ping(9));
  client.EndSending();
  EXPECT_EQ(client.Receive(4), wire::Raw<uint32_t>(9));
  EXPECT_TRUE(client.SeesEnd());
  EXPECT_EQ(Ask(&reader, wire::Get("k"), 9), wire::Encoded("v"));
  EXPECT_EQ(server_->counters().closed_bad_request, 0u);
}

TEST_F(TcpStoreServerTest, LargeValuesToAClientThatReadsLate) {
  Start();
  TestClient slow = Client(), other = Client();
  std::string value(9 << 20, '\0');
  for (size_t i = 0; i < value.size(); ++i) value[i] = static_cast<char>(i * 7 + i / 251);
  slow.Send(wire::Set("k", value));
  constexpr int kGets = 4;
  for (int i = 0; i < kGets; ++i) slow.Send(wire::Get("k"));
  slow.Send(wire::Ping(1));
  // Far more than the sockets hold. The server cannot make progress with this client, but
  // serves all others.
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(Alive(&other));
  const std::string expected = wire::Encoded(value);
  for (int i = 0; i < kGets; ++i) ASSERT_EQ(slow.Receive(expected.size()), expected);
  EXPECT_EQ(slow.Receive(4), wire::Raw<uint32_t>(1));
}

TEST_F(TcpStoreServerTest, AFullStoreClosesTheOffender) {
  TcpStoreServer::Options options;
  options.memory_limit_bytes = 1 << 20;
  Start(std::move(options));
  TestClient good = Client(), bad = Client();
  bad.Send(wire::Set("a", std::string(200 << 10, 'x')));
  bad.Send(wire::Set("b", std::string(900 << 10, 'x')));
  EXPECT_TRUE(bad.SeesEnd());
  EXPECT_EQ(server_->counters().closed_out_of_room, 1u);
  EXPECT_TRUE(Alive(&good));
  EXPECT_EQ(Ask(&good, wire::Query(QueryType::kDeleteKey, "a"), 8), wire::Raw<int64_t>(1));
  TestClient again = Client();
  again.Send(wire::Set("b", std::string(400 << 10, 'x')));
  EXPECT_TRUE(Alive(&again));
}

TEST_F(TcpStoreServerTest, OneSetWakesEveryWaiterAndDeadOnesAreForgotten) {
  Start();
  TestClient setter = Client();
  std::vector<TestClient> waiters, dead;
  for (int i = 0; i < 100; ++i) {
    waiters.push_back(Client());
    waiters.back().Send(wire::Wait({"k"}) + wire::Ping(3));
    EXPECT_EQ(waiters.back().Receive(4), wire::Raw<uint32_t>(3));  // It is waiting now.
    dead.push_back(Client());
    dead.back().Send(wire::Wait({"k"}));
    dead.back().EndSending();
    EXPECT_TRUE(dead.back().SeesEnd());
  }
  setter.Send(wire::Set("k", "v"));
  for (TestClient& waiter : waiters) EXPECT_EQ(waiter.Receive(1), kStop);
  EXPECT_TRUE(Alive(&setter));
}

TEST_F(TcpStoreServerTest, AWakeUpIsSentAfterPendingAnswers) {
  Start();
  TestClient waiter = Client(), setter = Client();
  const std::string value(9 << 20, 'v');
  waiter.Send(wire::Set("large", value) + wire::Wait({"k"}) + wire::Get("large"));
  ASSERT_EQ(waiter.Receive(8), wire::Raw<uint64_t>(value.size()));
  setter.Send(wire::Set("k", "v"));
  ASSERT_TRUE(Alive(&setter));
  EXPECT_EQ(waiter.Receive(value.size()), value);
  EXPECT_EQ(waiter.Receive(1), kStop);
  EXPECT_TRUE(Alive(&waiter));
}

// Returns a second descriptor of the server's end of `client`'s connection.
common::UniqueFd DuplicateOfServersEnd(const TestClient& client) {
  sockaddr_in mine = {};
  socklen_t length = sizeof(mine);
  getsockname(client.fd(), reinterpret_cast<sockaddr*>(&mine), &length);
  for (int fd = 0; fd < 1024; ++fd) {
    sockaddr_in peer = {};
    length = sizeof(peer);
    if (getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &length) != 0) continue;
    if (peer.sin_family == AF_INET && peer.sin_port == mine.sin_port)
      return common::UniqueFd(dup(fd));
  }
  return common::UniqueFd();
}

// As if another thread were starting a process, which holds all descriptors until its exec.
TEST_F(TcpStoreServerTest, AClosedConnectionHasNoEventsAlthoughItsSocketIsStillOpenElsewhere) {
  Start();
  TestClient good = Client(), bad = Client();
  const common::UniqueFd duplicate = DuplicateOfServersEnd(bad);
  ASSERT_TRUE(duplicate.valid());
  bad.Send("\xff");
  while (server_->counters().closed_bad_request == 0) ASSERT_TRUE(Alive(&good));
  // Two more answers take two more turns. The connection is gone by then.
  EXPECT_TRUE(Alive(&good));
  EXPECT_TRUE(Alive(&good));
  TestClient next = Client();  // It may have the descriptor number of the closed one.
  for (int i = 0; i < 100; ++i) {
    bad.Send("\xff");  // Makes its socket readable again and again.
    EXPECT_TRUE(Alive(&good));
  }
  EXPECT_TRUE(Alive(&next));
  EXPECT_EQ(server_->counters().closed_bad_request, 1u);
}

TEST_F(TcpStoreServerTest, WithoutDescriptorsNewClientsWaitForOne) {
  Start();
  std::vector<TestClient> clients(6);
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const int next_free = common::UniqueFd(dup(0)).get();
  rlimit tight = before;
  tight.rlim_cur = static_cast<rlim_t>(next_free) + 2;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &tight), 0);
  for (TestClient& client : clients) {
    EXPECT_TRUE(client.Connect(port_));
    client.Send(wire::Validate() + wire::Ping(8));
  }
  for (TestClient& client : clients) {
    EXPECT_EQ(client.Receive(4), wire::Raw<uint32_t>(8));
    client.EndSending();
    EXPECT_TRUE(client.SeesEnd());
  }
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

}  // namespace
}  // namespace accel::rendezvous
