#include "coordinator/gate/peer_address.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

namespace accel::coordinator {
namespace {

PeerAddress Of(const char* host, uint16_t port) {
  sockaddr_storage address{};
  auto* v4 = reinterpret_cast<sockaddr_in*>(&address);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&address);
  if (inet_pton(AF_INET, host, &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(port);
  } else {
    EXPECT_EQ(inet_pton(AF_INET6, host, &v6->sin6_addr), 1);
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(port);
  }
  return FromSocketAddress(address).value();
}

TEST(PeerAddressTest, AgreesWithGrpcAboutAConnection) {
  EXPECT_EQ(FromGrpcPeer("ipv4:10.0.0.1:4711")->key, Of("10.0.0.1", 4711).key);
  EXPECT_EQ(FromGrpcPeer("ipv6:%5B2001:db8::1%5D:4711")->key, Of("2001:db8::1", 4711).key);
  EXPECT_EQ(FromGrpcPeer("ipv6:[::1]:80")->key, Of("::1", 80).key);
  EXPECT_EQ(FromGrpcPeer("ipv6:%5Bfe80::1%25eth0%5D:80")->key, Of("fe80::1", 80).key);
  EXPECT_EQ(FromGrpcPeer("ipv4:10.0.0.1:80")->key, Of("::ffff:10.0.0.1", 80).key);
  EXPECT_NE(Of("10.0.0.1", 80).key, Of("10.0.0.1", 81).key);
}

TEST(PeerAddressTest, AnIpv6NetworkIsOneSource) {
  EXPECT_EQ(Of("2001:db8::1", 1).source, Of("2001:db8::ffff:2", 2).source);
  EXPECT_NE(Of("2001:db8::1", 1).source, Of("2001:db8:0:1::1", 1).source);
  EXPECT_EQ(Of("10.0.0.1", 1).source, Of("10.0.0.1", 2).source);
  EXPECT_NE(Of("10.0.0.1", 1).source, Of("10.0.0.2", 1).source);
}

TEST(PeerAddressTest, OtherTextsAreRefused) {
  for (const char* text :
       {"", "unix:", "unix:/run/x", "ipv4:", "ipv4:10.0.0.1", "ipv4:10.0.0.1:x",
        "ipv4:10.0.0.1:65536", "ipv6:::1:80", "ipv6:%5Bx%5D:80", "ipv6:%5B:80"}) {
    EXPECT_FALSE(FromGrpcPeer(text).has_value()) << text;
  }
  EXPECT_FALSE(FromSocketAddress(sockaddr_storage{}).has_value());
}

}  // namespace
}  // namespace accel::coordinator
