// Runs LibTorch's own C++ client against this server.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <utility>
#include <vector>

#include "common/status_matchers.h"
#include "rendezvous/listen_socket.h"
#include "rendezvous/tcp_store_server.h"

namespace accel::rendezvous {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using ::testing::UnorderedElementsAre;

constexpr milliseconds kPatient = std::chrono::seconds(30);
constexpr milliseconds kImpatient(50);

using Bytes = std::vector<uint8_t>;
using StorePtr = c10::intrusive_ptr<c10d::TCPStore>;

Bytes ToBytes(const std::string& text) { return Bytes(text.begin(), text.end()); }

class RealClientTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    // A client resolves its peer's name for its log lines. This bounds the delay where no
    // name server answers.
    setenv("RES_OPTIONS", "timeout:1 attempts:1", 1);
  }
  void SetUp() override {
    auto socket = ListenOn("127.0.0.1");
    ASSERT_OK(socket);
    port_ = *PortOf(*socket);
    TcpStoreServer::Options options;
    options.listen_socket = std::move(*socket);
    auto server = TcpStoreServer::Start(std::move(options));
    ASSERT_OK(server);
    server_ = std::move(*server);
  }

  StorePtr Client(milliseconds timeout = kPatient, bool use_libuv = true) const {
    c10d::TCPStoreOptions options;
    options.port = port_;
    options.waitWorkers = false;
    options.timeout = timeout;
    options.useLibUV = use_libuv;
    return c10::make_intrusive<c10d::TCPStore>("127.0.0.1", options);
  }

  uint16_t port_ = 0;
  std::unique_ptr<TcpStoreServer> server_;
};

void UseEveryMethodOfAllStores(c10d::Store* store) {
  store->set("k", ToBytes("v"));
  EXPECT_EQ(store->get("k"), ToBytes("v"));
  EXPECT_EQ(store->get_to_str("k"), "v");
  EXPECT_EQ(store->add("n", 40), 40);
  EXPECT_EQ(store->add("n", 2), 42);
  EXPECT_EQ(store->get_to_str("n"), "42");
  EXPECT_TRUE(store->check({"k", "n"}));
  EXPECT_FALSE(store->check({"k", "missing"}));
  store->wait({"k", "n"});
  store->wait({"k"}, kPatient);
  EXPECT_EQ(store->compareSet("k", ToBytes("v"), ToBytes("w")), ToBytes("w"));
  EXPECT_EQ(store->compareSet("k", ToBytes("v"), ToBytes("x")), ToBytes("w"));
  EXPECT_EQ(store->compareSet("new", ToBytes(""), ToBytes("x")), ToBytes("x"));
  EXPECT_EQ(store->compareSet("missing", ToBytes("e"), ToBytes("x")), ToBytes("e"));
  EXPECT_FALSE(store->check({"missing"}));
  EXPECT_TRUE(store->deleteKey("new"));
  EXPECT_FALSE(store->deleteKey("new"));
  EXPECT_TRUE(store->hasExtendedApi());
  store->append("log", ToBytes("one,"));
  store->append("log", ToBytes("two"));
  EXPECT_EQ(store->get_to_str("log"), "one,two");
  store->multiSet({"a", "b"}, {ToBytes("1"), ToBytes("")});
  EXPECT_EQ(store->multiGet({"b", "a", "k"}), (std::vector<Bytes>{{}, ToBytes("1"), ToBytes("w")}));
}

TEST_F(RealClientTest, EveryMethod) {
  const StorePtr store = Client();
  UseEveryMethodOfAllStores(store.get());
  EXPECT_EQ(store->getNumKeys(), 5);
  EXPECT_THAT(store->listKeys(), UnorderedElementsAre("k", "n", "log", "a", "b"));
  store->queuePush("q", ToBytes("first"));
  store->queuePush("q", ToBytes(""));
  EXPECT_EQ(store->queueLen("q"), 2);
  EXPECT_EQ(store->queuePop("q", true), ToBytes("first"));
  EXPECT_EQ(store->queuePop("q", false), ToBytes(""));
  EXPECT_EQ(store->queueLen("q"), 0);
  EXPECT_THROW(store->queuePop("q", false), c10::DistQueueEmptyError);
  const auto copy = store->clone();
  EXPECT_EQ(copy->get_to_str("n"), "42");
}

TEST_F(RealClientTest, EveryMethodOfTheClientWithoutLibUv) {
  const StorePtr store = Client(kPatient, false);
  UseEveryMethodOfAllStores(store.get());
  EXPECT_EQ(store->getNumKeys(), 5);
}

TEST_F(RealClientTest, EveryMethodThroughAPrefix) {
  const StorePtr store = Client();
  c10d::PrefixStore inner("job", c10::make_intrusive<c10d::PrefixStore>("outer", store));
  UseEveryMethodOfAllStores(&inner);
  inner.queuePush("q", ToBytes("x"));
  EXPECT_EQ(inner.queuePop("q", true), ToBytes("x"));
  EXPECT_TRUE(store->check({"outer/job/k"}));
  EXPECT_FALSE(store->check({"k"}));
}

TEST_F(RealClientTest, WorkersThatAnnounceThemselves) {
  // As init_process_group() does for every rank if the agent holds the store.
  for (int rank = 0; rank < 3; ++rank) {
    c10d::TCPStoreOptions options;
    options.port = port_;
    options.numWorkers = 3;
    options.waitWorkers = true;
    const auto store = c10::make_intrusive<c10d::TCPStore>("127.0.0.1", options);
    EXPECT_EQ(store->getNumKeys(), 1);
  }
}

TEST_F(RealClientTest, AWaitThatTimesOutThrowsAndTheClientRemainsUsable) {
  const StorePtr store = Client();
  store->setTimeout(kImpatient);
  EXPECT_THROW(store->get("missing"), c10::DistStoreError);
  EXPECT_THROW(store->wait({"missing", "too"}), c10::DistStoreError);
  EXPECT_THROW(store->wait({"missing"}, milliseconds(1)), c10::DistStoreError);
  EXPECT_THROW(store->multiGet({"missing"}), c10::DistStoreError);
  EXPECT_THROW(store->queuePop("missing", true), c10::DistStoreError);
  store->setTimeout(kPatient);
  store->set("missing", ToBytes("no more"));
  EXPECT_EQ(store->get_to_str("missing"), "no more");
}

// Makes the wake-up and the cancellation cross. The set is moved later after each wait that it
// ended, and earlier after each wait that timed out, down to before the wait.
TEST_F(RealClientTest, WaitsThatEndAboutWhenTheyTimeOut) {
  const StorePtr waiter = Client(), setter = Client();
  static constexpr microseconds kLeast(50);
  microseconds delay(1000);
  int in_time = 0, timed_out = 0;
  for (int i = 0; i < 200; ++i) {
    const std::string key = "key" + std::to_string(i);
    std::thread thread([&setter, &key, delay] {
      if (delay > kLeast) std::this_thread::sleep_for(delay);
      setter->set(key, ToBytes(key));
    });
    if (delay <= kLeast) thread.join();
    try {
      waiter->wait({key}, milliseconds(1));
      ++in_time;
      delay += delay / 4;
    } catch (const c10::DistStoreError&) {
      ++timed_out;
      delay = std::max(kLeast, delay - delay / 4);
    }
    if (thread.joinable()) thread.join();
    ASSERT_EQ(waiter->get_to_str(key), key);
  }
  EXPECT_GT(in_time, 0);
  EXPECT_GT(timed_out, 0);
}

TEST_F(RealClientTest, OneSetWakesTheWaitersOfManyThreads) {
  constexpr int kWaiters = 16;
  std::atomic<int> woken{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kWaiters; ++i) {
    threads.emplace_back([this, &woken] {
      const StorePtr store = Client();
      store->add("arrived", 1);
      store->wait({"go", "now"});
      EXPECT_EQ(store->get_to_str("go"), "go");
      ++woken;
    });
  }
  const StorePtr store = Client();
  while (store->add("arrived", 0) < kWaiters) std::this_thread::yield();
  store->set("now", ToBytes("now"));
  EXPECT_EQ(woken, 0);
  store->set("go", ToBytes("go"));
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(woken, kWaiters);
}

// LibTorch's client first waits for the queue to have an element and then pops it, so another
// client may have taken that element.
int PopWhenThereIsOne(const StorePtr& store, const std::string& queue) {
  while (true) {
    try {
      return store->queuePop(queue, true).at(0);
    } catch (const c10::DistQueueEmptyError&) {
    }
  }
}

TEST_F(RealClientTest, EachElementGoesToOneOfTheBlockedPoppers) {
  constexpr int kPoppers = 8;
  std::atomic<int> sum{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kPoppers; ++i) {
    threads.emplace_back([this, &sum] {
      const StorePtr store = Client();
      store->add("arrived", 1);
      sum += PopWhenThereIsOne(store, "q");
    });
  }
  const StorePtr store = Client();
  while (store->add("arrived", 0) < kPoppers) std::this_thread::yield();
  int expected = 0;
  for (uint8_t i = 1; i <= kPoppers; ++i) {
    store->queuePush("q", {i});
    expected += i;
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sum, expected);
  EXPECT_EQ(store->queueLen("q"), 0);
}

TEST_F(RealClientTest, LargeValues) {
  const StorePtr writer = Client(), reader = Client();
  Bytes value(40 << 20);
  for (size_t i = 0; i < value.size(); ++i) value[i] = static_cast<uint8_t>(i * 31 + i / 509);
  writer->set("large", value);
  EXPECT_TRUE(reader->get("large") == value);
  EXPECT_TRUE(writer->compareSet("large", Bytes{1}, Bytes{2}) == value);
  writer->append("large", {7});
  value.push_back(7);
  EXPECT_TRUE(reader->get("large") == value);
  EXPECT_TRUE(writer->deleteKey("large"));
  const Bytes part(10 << 20, 'p');
  writer->multiSet({"p1", "p2", "p3"}, {part, part, part});
  EXPECT_TRUE(reader->multiGet({"p3", "p1"}) == (std::vector<Bytes>{part, part}));
  EXPECT_EQ(server_->counters().closed_out_of_room, 0u);
}

TEST_F(RealClientTest, ManyKeysAtOnce) {
  const StorePtr store = Client();
  std::vector<std::string> keys;
  std::vector<Bytes> values;
  for (int i = 0; i < 20000; ++i) {
    keys.push_back("key/" + std::to_string(i));
    values.push_back(ToBytes(std::to_string(i)));
  }
  store->multiSet(keys, values);
  EXPECT_TRUE(store->check(keys));
  EXPECT_EQ(store->multiGet(keys), values);
  EXPECT_EQ(store->listKeys().size(), keys.size());
}

TEST_F(RealClientTest, SixtyFourClientsAtATime) {
  constexpr int kClients = 64;
  constexpr int kRounds = 20;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kClients; ++rank) {
    threads.emplace_back([this, rank] {
      const StorePtr store = Client();
      for (int round = 0; round < kRounds; ++round) {
        const std::string prefix = std::to_string(round) + "/";
        store->set(prefix + std::to_string(rank), Bytes(100, static_cast<uint8_t>(rank)));
        const int next = (rank + 1) % kClients;
        ASSERT_EQ(store->get(prefix + std::to_string(next)),
                  Bytes(100, static_cast<uint8_t>(next)));
        // A barrier as programs build it.
        if (store->add(prefix + "count", 1) == kClients) store->set(prefix + "go", Bytes{1});
        store->wait({prefix + "go"});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Client()->getNumKeys(), kRounds * (kClients + 2));
  EXPECT_EQ(server_->counters().closed_bad_request, 0u);
}

}  // namespace
}  // namespace accel::rendezvous
