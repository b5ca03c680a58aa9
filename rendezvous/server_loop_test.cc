#include "rendezvous/server_loop.h"

#include <sys/eventfd.h>

#include <string>
#include <utility>
#include <vector>

#include "common/status_matchers.h"
#include "rendezvous/core/request_encoder.h"
#include "rendezvous/listen_socket.h"
#include "rendezvous/test_client.h"

namespace accel::rendezvous {
namespace {

using testing::TestClient;

// Runs the loop turn by turn, for clients from 127.0.0.2 only.
class ServerLoopTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto socket = ListenOn("0.0.0.0");
    ASSERT_OK(socket);
    port_ = *PortOf(*socket);
    wake_.reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    loop_ =
        std::make_unique<ServerLoop>(ServerLoop::Options{.listen_socket = std::move(*socket),
                                                         .wake = common::UniqueFd(dup(wake_.get())),
                                                         .peers = *PeerFilter::Make({"127.0.0.2"}),
                                                         .memory_limit_bytes = 1 << 20,
                                                         .max_connections = 1000},
                                     &counters_);
    ASSERT_OK(loop_->Watch());
  }

  uint16_t port_ = 0;
  common::UniqueFd wake_;
  ServerCounters counters_;
  std::unique_ptr<ServerLoop> loop_;
};

TEST_F(ServerLoopTest, AFloodOfStrangersLeavesClientsTheirTurn) {
  constexpr int kStrangers = 5 * ServerLoop::kAcceptsPerTurn;
  TestClient client;
  ASSERT_TRUE(client.BindTo("127.0.0.2"));
  ASSERT_TRUE(client.Connect(port_));
  client.Send(testing::Validate() + testing::Ping(7));
  std::vector<TestClient> strangers(kStrangers);
  for (TestClient& stranger : strangers) ASSERT_TRUE(stranger.Connect(port_));
  ASSERT_TRUE(loop_->RunOnce());
  EXPECT_EQ(counters_.accepted, 1u);
  ASSERT_TRUE(loop_->RunOnce());
  EXPECT_EQ(client.Receive(4), testing::Raw<uint32_t>(7));
  EXPECT_EQ(counters_.refused_peers, 2u * ServerLoop::kAcceptsPerTurn - 1) << "the others wait";
  while (counters_.refused_peers < kStrangers) ASSERT_TRUE(loop_->RunOnce());
  for (TestClient& stranger : strangers) EXPECT_TRUE(stranger.SeesEnd());
}

TEST_F(ServerLoopTest, RunReturnsWhenWoken) {
  eventfd_write(wake_.get(), 1);
  EXPECT_FALSE(loop_->RunOnce());
}

}  // namespace
}  // namespace accel::rendezvous
