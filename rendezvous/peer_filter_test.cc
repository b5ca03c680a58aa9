#include "rendezvous/peer_filter.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "common/status_matchers.h"

namespace accel::rendezvous {
namespace {

using ::accel::testing::StatusIs;
using ::testing::HasSubstr;

sockaddr_storage Peer(const char* text) {
  sockaddr_storage storage = {};
  auto& ipv4 = reinterpret_cast<sockaddr_in&>(storage);
  auto& ipv6 = reinterpret_cast<sockaddr_in6&>(storage);
  if (inet_pton(AF_INET, text, &ipv4.sin_addr) == 1) {
    storage.ss_family = AF_INET;
  } else {
    EXPECT_EQ(inet_pton(AF_INET6, text, &ipv6.sin6_addr), 1) << text;
    storage.ss_family = AF_INET6;
  }
  return storage;
}

TEST(PeerFilterTest, AnEmptyListAllowsOnlyLoopback) {
  const auto filter = PeerFilter::Make({});
  ASSERT_OK(filter);
  for (const char* peer : {"127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1"}) {
    EXPECT_TRUE(filter->Allows(Peer(peer))) << peer;
  }
  for (const char* peer : {"10.0.0.1", "128.0.0.1", "::2", "::", "::ffff:10.0.0.1"}) {
    EXPECT_FALSE(filter->Allows(Peer(peer))) << peer;
  }
}

TEST(PeerFilterTest, AListAllowsOnlyItsAddresses) {
  const auto filter = PeerFilter::Make({"10.0.0.1", "fe80::1"});
  ASSERT_OK(filter);
  for (const char* peer : {"10.0.0.1", "::ffff:10.0.0.1", "fe80::1"}) {
    EXPECT_TRUE(filter->Allows(Peer(peer))) << peer;
  }
  for (const char* peer : {"10.0.0.2", "127.0.0.1", "::1", "fe80::2"}) {
    EXPECT_FALSE(filter->Allows(Peer(peer))) << peer;
  }
}

TEST(PeerFilterTest, OtherAddressFamiliesAreRefused) {
  const auto filter = PeerFilter::Make({});
  ASSERT_OK(filter);
  sockaddr_storage unix_peer = {};
  unix_peer.ss_family = AF_UNIX;
  EXPECT_FALSE(filter->Allows(unix_peer));
}

TEST(PeerFilterTest, RefusesNames) {
  for (const char* text : {"localhost", "", "10.0.0", "10.0.0.1:80", "::1%lo"}) {
    EXPECT_THAT(PeerFilter::Make({"10.0.0.1", text}),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("numeric")))
        << text;
  }
}

}  // namespace
}  // namespace accel::rendezvous
