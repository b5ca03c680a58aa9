#include "coordinator/gate/gate.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/status_matchers.h"
#include "coordinator/listener.h"

namespace accel::coordinator {
namespace {

constexpr char kHello[] = "\x16\x03\x01\x00\x02hi";
constexpr size_t kHelloSize = sizeof(kHello) - 1;

// The longest that a test waits for the gate, in milliseconds.
constexpr int kPatience = 30'000;
// For tests that are not about these limits: the test or the gate may stand still for some seconds.
constexpr GateLimits kPatient = {.first_record = absl::Minutes(1), .first_call = absl::Minutes(1)};

constexpr absl::Duration kPoll = absl::Milliseconds(1);
// The lowest number of a client's descriptor after MoveUp().
constexpr int kClients = 1000;

// A client of the gate.
class Client {
 public:
  explicit Client(int port) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<in_port_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (!fd_.valid()) return;
    EXPECT_EQ(connect(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  }
  Client(int port, const std::string& bytes) : Client(port) { Send(bytes); }

  void Send(const std::string& bytes) {
    EXPECT_EQ(send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  // Returns true if the gate closes the connection within this time.
  bool IsClosedWithin(int millis) {
    pollfd end{fd_.get(), POLLIN, 0};
    char byte;
    return poll(&end, 1, millis) == 1 && recv(fd_.get(), &byte, 1, 0) <= 0;
  }
  // Gives the lower numbers of descriptors to the gate, which is in the same process.
  void MoveUp() {
    fd_ = common::UniqueFd(fcntl(fd_.get(), F_DUPFD_CLOEXEC, kClients));
    EXPECT_TRUE(fd_.valid());
  }
  // What gRPC calls this connection on the other side.
  std::string Peer() const {
    sockaddr_in own{};
    socklen_t size = sizeof(own);
    getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&own), &size);
    return absl::StrCat("ipv4:127.0.0.1:", ntohs(own.sin_port));
  }
  bool valid() const { return fd_.valid(); }

 private:
  common::UniqueFd fd_;
};

const std::string Hello() { return std::string(kHello, kHelloSize); }

class GateTest : public ::testing::Test {
 protected:
  void Begin(GateLimits limits = kPatient, int first_crowded = 1000) {
    auto listener = ListenOn({"127.0.0.1", "0"});
    ASSERT_OK(listener);
    port_ = listener->port;
    Gate::Options options;
    options.tcp = std::move(listener->sockets);
    options.limits = limits;
    options.first_crowded = first_crowded;
    options.on_tcp = [this](common::UniqueFd fd) { Keep(std::move(fd), &taken_); };
    options.on_enrolment = [this](common::UniqueFd fd) { Keep(std::move(fd), &enrolling_); };
    gate_ = std::make_unique<Gate>(std::move(options));
    gate_->Start();
  }

  void Keep(common::UniqueFd fd, std::vector<common::UniqueFd>* in) {
    absl::MutexLock lock(&mutex_);
    in->push_back(std::move(fd));
  }

  // Waits until gRPC, whose place this test takes, has had `count` connections.
  void WaitForTaken(size_t count) { WaitFor(&taken_, count); }

  void WaitFor(const std::vector<common::UniqueFd>* in, size_t count) {
    const auto enough = [in, count] { return in->size() >= count; };
    absl::MutexLock lock(&mutex_);
    EXPECT_TRUE(mutex_.AwaitWithTimeout(absl::Condition(&enough), absl::Seconds(60)));
  }

  size_t taken() {
    absl::MutexLock lock(&mutex_);
    return taken_.size();
  }

  int port_ = 0;
  absl::Mutex mutex_;
  std::vector<common::UniqueFd> taken_;
  std::vector<common::UniqueFd> enrolling_;
  std::unique_ptr<Gate> gate_;
};

TEST_F(GateTest, HandsOverAConnectionWithItsWholeFirstRecord) {
  Begin();
  Client client(port_, Hello().substr(0, 4));
  client.Send(Hello().substr(4));
  WaitForTaken(1);
  absl::MutexLock lock(&mutex_);
  const int fd = taken_[0].get();
  char bytes[64];
  EXPECT_EQ(recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT), static_cast<ssize_t>(kHelloSize));
  EXPECT_NE(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
  EXPECT_NE(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
  const auto option = [fd](int level, int name) {
    int value = 0;
    socklen_t size = sizeof(value);
    getsockopt(fd, level, name, &value, &size);
    return value;
  };
  EXPECT_EQ(option(SOL_SOCKET, SO_KEEPALIVE), 1);
  EXPECT_EQ(option(IPPROTO_TCP, TCP_KEEPIDLE) +
                option(IPPROTO_TCP, TCP_KEEPINTVL) * option(IPPROTO_TCP, TCP_KEEPCNT),
            15);
  EXPECT_EQ(option(IPPROTO_TCP, TCP_USER_TIMEOUT), 15'000);
}

TEST_F(GateTest, RoutesByTheFirstBytes) {
  Begin();
  EXPECT_TRUE(Client(port_, "SSH-2.0-OpenSSH_9.2\r\n").IsClosedWithin(kPatience));
  EXPECT_TRUE(Client(port_, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").IsClosedWithin(kPatience));
  Client enrols(port_, "ACCELEN1");
  WaitFor(&enrolling_, 1);
  EXPECT_EQ(taken(), 0u);
  EXPECT_EQ(gate_->counts().unknown, 2);
}

TEST_F(GateTest, ClosesWhatStaysSilentAndWhatMakesNoValidCall) {
  GateLimits limits;
  limits.first_record = limits.first_call = absl::Milliseconds(50);
  Begin(limits);
  Client silent(port_);
  Client half(port_, Hello().substr(0, 6));
  Client pending(port_, Hello());
  EXPECT_TRUE(silent.IsClosedWithin(kPatience));
  EXPECT_TRUE(half.IsClosedWithin(kPatience));
  EXPECT_TRUE(pending.IsClosedWithin(kPatience));
  EXPECT_EQ(gate_->counts().expired, 3);
}

TEST_F(GateTest, AValidCallKeepsTheConnectionAndFreesItsPlace) {
  GateLimits limits;
  limits.first_call = absl::Seconds(8);  // Far more than the test needs for the valid call.
  limits.pending_per_source = 1;
  Begin(limits);
  Client first(port_, Hello());
  WaitForTaken(1);
  Client second(port_, Hello());
  gate_->Authenticated(first.Peer(), "07");
  WaitForTaken(2);
  EXPECT_TRUE(second.IsClosedWithin(kPatience));
  EXPECT_FALSE(first.IsClosedWithin(0));
}

TEST_F(GateTest, TheEndOfAConnectionThatGrpcHasFreesItsPlace) {
  GateLimits limits = kPatient;
  limits.pending_per_source = 1;
  Begin(limits);
  Client first(port_, Hello());
  WaitForTaken(1);
  Client second(port_, Hello());
  {
    absl::MutexLock lock(&mutex_);
    shutdown(taken_[0].get(), SHUT_RDWR);  // So gRPC ends a connection.
  }
  WaitForTaken(2);
}

TEST_F(GateTest, CutsTheConnectionsOfACredential) {
  Begin();
  Client revoked(port_, Hello());
  WaitForTaken(1);
  Client other(port_, Hello());
  WaitForTaken(2);
  gate_->Authenticated(revoked.Peer(), "07");
  gate_->Authenticated(other.Peer(), "08");
  gate_->Cut("07");
  EXPECT_TRUE(revoked.IsClosedWithin(kPatience));
  EXPECT_FALSE(other.IsClosedWithin(0));
  const std::string peer = other.Peer();
  EXPECT_EQ(gate_->CutPeer(peer), "08");
  EXPECT_EQ(gate_->CutPeer(peer), std::nullopt);
  EXPECT_TRUE(other.IsClosedWithin(kPatience));
}

TEST_F(GateTest, SilentConnectionsMakeRoomWhenDescriptorsAreShort) {
  constexpr int kBound = 100;
  Begin(kPatient, kBound);
  // Both ends of each connection are in this process, so the gate has about half of the descriptors
  // below the bound.
  std::vector<Client> silent;
  silent.emplace_back(port_);
  // The gate has one while descriptors are free, or else there is none that makes room.
  for (int i = 0; i < 10'000 && gate_->counts().accepted == 0; ++i) silent[0].IsClosedWithin(1);
  for (int i = 1; i < kBound; ++i) silent.emplace_back(port_);
  Client honest(port_, Hello());
  WaitForTaken(1);
  EXPECT_FALSE(honest.IsClosedWithin(0));
  EXPECT_GT(gate_->counts().evicted, 0);
}

TEST_F(GateTest, ConnectionsThatMakeOthersGoTakeNothingOfTheReserve) {
  constexpr int kBound = 100;
  constexpr int kConnections = 300;
  constexpr size_t kHonest = 20;
  GateLimits limits = kPatient;
  limits.pending_strangers = limits.pending_per_source = kHonest;
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 4096);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  Begin(limits, kBound);
  std::vector<Client> clients;
  const auto connect = [&] {
    const int64_t before = gate_->counts().accepted;
    clients.emplace_back(port_);
    clients.back().MoveUp();
    for (int i = 0; i < 10'000 && gate_->counts().accepted == before; ++i) absl::SleepFor(kPoll);
  };
  for (int i = 0; i < kConnections; ++i) connect();
  // Each of these has two descriptors.
  for (size_t i = 1; i <= kHonest; ++i) {
    connect();
    clients.back().Send(Hello());
    WaitForTaken(i);
  }
  EXPECT_EQ(gate_->counts().accepted, kConnections + static_cast<int64_t>(kHonest));
  int of_reserve = 0;
  for (int fd = kBound; fd < kClients; ++fd) of_reserve += fcntl(fd, F_GETFD) >= 0 ? 1 : 0;
  EXPECT_LE(of_reserve, 5);
}

TEST_F(GateTest, WithoutAnyFreeDescriptorConnectionsWaitAndAreServedLater) {
  Begin();
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  limit.rlim_cur = 200;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  std::vector<common::UniqueFd> files;
  do {
    files.emplace_back(open("/dev/null", O_RDONLY | O_CLOEXEC));
  } while (files.back().valid());
  ASSERT_EQ(errno, EMFILE);
  files.pop_back();
  files.pop_back();
  // The client has the last free descriptor. The kernel completes the connection by itself.
  Client client(port_, Hello());
  ASSERT_TRUE(client.valid());
  EXPECT_EQ(taken(), 0u);
  files.clear();
  WaitForTaken(1);
  EXPECT_FALSE(client.IsClosedWithin(0));
}

TEST(FirstCrowdedDescriptorTest, LeavesAReserve) {
  EXPECT_EQ(FirstCrowdedDescriptor(80), 60);
  EXPECT_EQ(FirstCrowdedDescriptor(1024), 768);
  EXPECT_EQ(FirstCrowdedDescriptor(65'536), 65'280);
}

}  // namespace
}  // namespace accel::coordinator
