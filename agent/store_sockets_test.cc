#include "agent/store_sockets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <map>
#include <set>

#include "rendezvous/listen_socket.h"

namespace accel::agent {
namespace {

using ::testing::HasSubstr;

bool Connects(int port) {
  const common::UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
}

TEST(StoreSockets, AllListenBeforeAnyoneAsks) {
  StoreSockets sockets("127.0.0.1", 3);
  std::set<uint64_t> ids;
  for (const v1::StoreSocket& socket : sockets.List()) {
    EXPECT_EQ(socket.address(), "127.0.0.1");
    EXPECT_TRUE(Connects(socket.port()));
    ids.insert(socket.id());
  }
  EXPECT_EQ(ids.size(), 3u);
  EXPECT_FALSE(ids.contains(0));
}

TEST(StoreSockets, EachIsTakenOnceAndReplacedUnderANewId) {
  StoreSockets sockets("127.0.0.1", 1);
  const v1::StoreSocket first = sockets.List().at(0);
  {
    const common::UniqueFd taken = sockets.Take(first.id());
    EXPECT_TRUE(taken.valid());
    EXPECT_FALSE(sockets.Take(first.id()).valid());
    EXPECT_TRUE(Connects(first.port()));
  }
  EXPECT_FALSE(Connects(first.port()));
  EXPECT_TRUE(sockets.Refill());
  EXPECT_FALSE(sockets.Refill());
  ASSERT_EQ(sockets.List().size(), 1u);
  EXPECT_GT(sockets.List()[0].id(), first.id());
}

// A plan may name a socket of an agent that has been killed. It must not get another one's.
TEST(StoreSockets, TwoAgentsNeverIssueTheSameId) {
  StoreSockets before("127.0.0.1", 2);
  StoreSockets after("127.0.0.1", 2);
  for (const v1::StoreSocket& socket : before.List()) {
    EXPECT_FALSE(after.Take(socket.id()).valid());
  }
}

TEST(StoreSockets, ZeroNamesNone) {
  StoreSockets sockets("127.0.0.1", 1);
  EXPECT_FALSE(sockets.Take(0).valid());
}

// Jobs of one node use 127.0.0.1, whatever the node advertises.
TEST(StoreSockets, SomeListenOnLoopback) {
  StoreSockets sockets("127.0.0.2", 2);
  std::map<std::string, int> count;
  for (const v1::StoreSocket& socket : sockets.List()) ++count[socket.address()];
  EXPECT_EQ(count, (std::map<std::string, int>{{"127.0.0.1", 2}, {"127.0.0.2", 2}}));
  EXPECT_EQ(sockets.missing(), "");
}

TEST(StoreSockets, AnAddressOfAnotherMachineIsNamed) {
  StoreSockets sockets("192.0.2.1", 2);  // An address reserved for documentation.
  for (const v1::StoreSocket& socket : sockets.List()) EXPECT_EQ(socket.address(), "127.0.0.1");
  EXPECT_THAT(sockets.missing(), HasSubstr("for a rendezvous store on 192.0.2.1"));
}

// Returns a range of two ports that are free now.
common::PortRange TwoFreePorts() {
  while (true) {
    const auto first = rendezvous::ListenOn("127.0.0.1");
    const uint16_t port = rendezvous::PortOf(*first).value();
    const common::PortRange range{port, static_cast<uint16_t>(port + 1)};
    if (range.last != 0 && rendezvous::ListenOn("127.0.0.1", range.last).ok()) return range;
  }
}

TEST(StoreSockets, PortsAreOfTheRangeAndRunOut) {
  const common::PortRange range = TwoFreePorts();
  StoreSockets sockets("127.0.0.1", 1, range);
  std::vector<common::UniqueFd> taken;
  for (int i = 0; i < 2; ++i) {
    const std::vector<v1::StoreSocket> list = sockets.List();
    ASSERT_EQ(list.size(), 1u);
    EXPECT_GE(list[0].port(), range.first);
    EXPECT_LE(list[0].port(), range.last);
    EXPECT_EQ(sockets.missing(), "");
    taken.push_back(sockets.Take(list[0].id()));
    EXPECT_TRUE(sockets.Refill());
  }
  EXPECT_THAT(sockets.missing(), HasSubstr("no free port in " + range.text()));
  EXPECT_FALSE(sockets.Refill());
  taken.pop_back();  // A job ends.
  EXPECT_TRUE(sockets.Refill());
  EXPECT_EQ(sockets.missing(), "");
  EXPECT_EQ(sockets.List().size(), 1u);
}

}  // namespace
}  // namespace accel::agent
