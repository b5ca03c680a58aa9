// The shim serves the rendezvous store of its generation, and no longer.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/shim/shim_test_base.h"
#include "agent/tcp_store/listen_socket.h"
#include "common/status_matchers.h"

namespace accel {
namespace {

using State = GenerationReport::State;

class ShimStoreTest : public testing::ShimTest {
 protected:
  static UniqueFd Connect(const sockaddr_in& address) {
    UniqueFd client(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const auto* where = reinterpret_cast<const sockaddr*>(&address);
    if (connect(client.get(), where, sizeof(address)) != 0) client.reset();
    return client;
  }
};

TEST_F(ShimStoreTest, AnswersWhileTheGenerationRuns) {
  auto listening = ListenOn("127.0.0.1");
  ASSERT_OK(listening);
  sockaddr_in address = {};
  socklen_t size = sizeof(address);
  ASSERT_EQ(getsockname(listening->get(), reinterpret_cast<sockaddr*>(&address), &size), 0);

  auto start = Script("sleep 1000");
  start.serves_store = true;
  start.store_peers = {"127.0.0.1"};
  ASSERT_OK(host().StartShim(start.id.job));
  ASSERT_OK(host().StartGeneration(start, *std::move(listening)));
  AwaitState(start.id.job, State::kRunning);

  const UniqueFd client = Connect(address);
  ASSERT_TRUE(client.valid());
  // VALIDATE, then PING with a nonce: the store gives the nonce back.
  const char ping[] = "\x00\xCE\xF7\x85\x3C\x0D\x01\x02\x03\x04";
  ASSERT_EQ(write(client.get(), ping, 10), 10);
  pollfd answer = {client.get(), POLLIN, 0};
  ASSERT_EQ(poll(&answer, 1, 20'000), 1);
  char nonce[4] = {};
  ASSERT_EQ(read(client.get(), nonce, 4), 4);
  EXPECT_EQ(std::string(nonce, 4), "\x01\x02\x03\x04");

  ASSERT_OK(host().StopGeneration({start.id, absl::ZeroDuration()}));
  AwaitState(start.id.job, State::kEnded);
  EXPECT_EQ(read(client.get(), nonce, 4), 0) << "it has hung up";
  EXPECT_FALSE(Connect(address).valid());
}

TEST_F(ShimStoreTest, PeersThatAreNoAddresses) {
  auto listening = ListenOn("127.0.0.1");
  ASSERT_OK(listening);
  auto start = Script("exit 0");
  start.serves_store = true;
  start.store_peers = {"localhost"};
  ASSERT_OK(host().StartShim(start.id.job));
  ASSERT_OK(host().StartGeneration(start, *std::move(listening)));
  const GenerationReport report = AwaitState(start.id.job, State::kEnded);
  ASSERT_TRUE(report.failure.has_value());
  EXPECT_EQ(report.failure->kind, ExitFact::Kind::kNotStarted);
  EXPECT_EQ(report.failure->message.find("Cannot serve the rendezvous store: "), 0u);
}

}  // namespace
}  // namespace accel
