#include "agent/store_sockets.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <set>

namespace accel::agent {
namespace {

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

TEST(StoreSockets, AnAddressOfAnotherMachineLeavesThePoolEmpty) {
  StoreSockets sockets("192.0.2.1", 2);  // An address reserved for documentation.
  EXPECT_TRUE(sockets.List().empty());
}

}  // namespace
}  // namespace accel::agent
