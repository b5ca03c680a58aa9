#include "common/ip_address.h"

#include <gtest/gtest.h>

namespace accel::common {
namespace {

IpAddress Ip(const std::string& text) {
  const std::optional<IpAddress> address = IpAddress::Parse(text);
  EXPECT_TRUE(address.has_value()) << text;
  return address.value_or(IpAddress());
}

TEST(IpAddress, AMappedAddressIsItsIpv4Address) {
  EXPECT_EQ(Ip("::ffff:192.0.2.1"), Ip("192.0.2.1"));
  EXPECT_EQ(Ip("::ffff:192.0.2.1").text(), "192.0.2.1");
  EXPECT_TRUE(Ip("::ffff:127.0.0.2").is_loopback());
  EXPECT_NE(Ip("::192.0.2.1"), Ip("192.0.2.1"));
}

TEST(IpAddress, TextThatIsNoAddressIsRefused) {
  for (const char* text : {"", "localhost", "127.0.0", "127.0.0.1:80", "[::1]", "fe80::1%eth0",
                           "0x7f.1", " 127.0.0.1", "1.2.3.4/8"}) {
    EXPECT_FALSE(IpAddress::Parse(text).has_value()) << text;
  }
}

TEST(IpAddress, KindsAreToldApart) {
  struct Row {
    const char* text;
    bool loopback, wildcard, multicast, link_local;
  };
  for (const Row& row :
       {Row{"127.0.0.1", true, false, false, false}, Row{"127.255.0.1", true, false, false, false},
        Row{"::1", true, false, false, false}, Row{"0.0.0.0", false, true, false, false},
        Row{"::", false, true, false, false}, Row{"239.1.1.1", false, false, true, false},
        Row{"ff02::1", false, false, true, false}, Row{"fe80::1", false, false, false, true},
        Row{"febf::1", false, false, false, true}, Row{"fec0::1", false, false, false, false},
        Row{"169.254.1.1", false, false, false, false},
        Row{"10.0.0.1", false, false, false, false}}) {
    const IpAddress address = Ip(row.text);
    EXPECT_EQ(address.is_loopback(), row.loopback) << row.text;
    EXPECT_EQ(address.is_wildcard(), row.wildcard) << row.text;
    EXPECT_EQ(address.is_multicast(), row.multicast) << row.text;
    EXPECT_EQ(address.is_v6_link_local(), row.link_local) << row.text;
  }
}

TEST(IpAddress, ANetworkIsAPrefixOfTheOwnFamily) {
  EXPECT_TRUE(Ip("10.1.2.3").IsInNetwork(Ip("10.1.0.0"), 16));
  EXPECT_FALSE(Ip("10.2.2.3").IsInNetwork(Ip("10.1.0.0"), 16));
  EXPECT_TRUE(Ip("10.1.2.3").IsInNetwork(Ip("10.1.2.2"), 31));
  EXPECT_FALSE(Ip("10.1.2.3").IsInNetwork(Ip("10.1.2.2"), 32));
  EXPECT_TRUE(Ip("fd31::7").IsInNetwork(Ip("fd31::"), 64));
  EXPECT_FALSE(Ip("10.1.2.3").IsInNetwork(Ip("::"), 0));
  EXPECT_TRUE(Ip("10.1.2.3").IsInNetwork(Ip("0.0.0.0"), 0));
}

TEST(IpAddress, NumbersAreCompared) {
  EXPECT_TRUE(Ip("10.0.0.9").IsBefore(Ip("10.0.0.10")));
  EXPECT_FALSE(Ip("10.0.0.10").IsBefore(Ip("10.0.0.9")));
  EXPECT_FALSE(Ip("10.0.0.9").IsBefore(Ip("::ffff:10.0.0.9")));
}

TEST(IpAddress, BracketsAreForIpv6Only) {
  EXPECT_EQ(JoinHostPort("10.0.0.1", "80"), "10.0.0.1:80");
  EXPECT_EQ(JoinHostPort("h1", "80"), "h1:80");
  EXPECT_EQ(JoinHostPort("fd31::1", "80"), "[fd31::1]:80");
}

}  // namespace
}  // namespace accel::common
