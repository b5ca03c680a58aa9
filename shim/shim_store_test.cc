// The shim serves the rendezvous store of its generation until the whole generation is over.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/status_matchers.h"
#include "rendezvous/listen_socket.h"
#include "shim/shim_test_base.h"

namespace accel::shim {
namespace {

using State = GenerationReport::State;

class ShimStoreTest : public ShimTest {
 protected:
  // Starts `script` with a store, and sets address_ to the store's address.
  StartCommand StartWithStore(const std::string& script) {
    auto start = Script(script);
    start.serves_store = true;
    start.store_peers = {"127.0.0.1"};
    auto listening = rendezvous::ListenOn("127.0.0.1");
    EXPECT_OK(listening);
    if (!listening.ok()) return start;
    socklen_t size = sizeof(address_);
    EXPECT_EQ(getsockname(listening->get(), reinterpret_cast<sockaddr*>(&address_), &size), 0);
    const absl::Status shim = host().StartShim(start.id.job);
    EXPECT_TRUE(shim.ok() || absl::IsAlreadyExists(shim)) << shim;
    EXPECT_OK(host().StartGeneration(start, *std::move(listening)));
    return start;
  }

  common::UniqueFd Connect() const {
    common::UniqueFd client(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const auto* where = reinterpret_cast<const sockaddr*>(&address_);
    if (connect(client.get(), where, sizeof(address_)) != 0) client.reset();
    return client;
  }

  static void ExpectAnswer(int client) {
    // VALIDATE, then PING with a nonce, which the store returns.
    const char ping[] = "\x00\xCE\xF7\x85\x3C\x0D\x01\x02\x03\x04";
    ASSERT_EQ(write(client, ping, 10), 10);
    pollfd answer = {client, POLLIN, 0};
    ASSERT_EQ(poll(&answer, 1, 20'000), 1);
    char nonce[4] = {};
    ASSERT_EQ(read(client, nonce, 4), 4);
    EXPECT_EQ(std::string(nonce, 4), "\x01\x02\x03\x04");
  }

  void ExpectGone(int client) const {
    char byte = 0;
    EXPECT_EQ(read(client, &byte, 1), 0) << "it has hung up";
    EXPECT_FALSE(Connect().valid());
  }

 private:
  sockaddr_in address_ = {};
};

TEST_F(ShimStoreTest, AnswersUntilItsShimEnds) {
  const StartCommand start = StartWithStore("sleep 1000");
  AwaitState(start.id.job, State::kRunning);
  const common::UniqueFd client = Connect();
  ASSERT_TRUE(client.valid());
  ExpectAnswer(client.get());
  ASSERT_OK(host().StopGeneration({start.id, absl::ZeroDuration()}));
  AwaitState(start.id.job, State::kEnded);
  EndShim(start.id.job);
  ExpectGone(client.get());
}

// Ranks on other nodes may outlive those of this one.
TEST_F(ShimStoreTest, OutlivesItsOwnRanksUntilTheNextGeneration) {
  const StartCommand start = StartWithStore("exit 0");
  AwaitState(start.id.job, State::kEnded);
  const common::UniqueFd client = Connect();
  ASSERT_TRUE(client.valid());
  ExpectAnswer(client.get());
  Start(Script("sleep 1000"));
  AwaitState(start.id.job, State::kRunning);
  ExpectGone(client.get());
}

TEST_F(ShimStoreTest, RefusesPeersThatAreNotAddresses) {
  auto listening = rendezvous::ListenOn("127.0.0.1");
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
}  // namespace accel::shim
