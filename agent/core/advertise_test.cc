#include "agent/core/advertise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status_matchers.h"

namespace accel::agent {
namespace {

using accel::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::vector<InterfaceAddress> kOwn = {
    {"lo", "127.0.0.1"},   {"lo", "::1"},          {"eth0", "fe80::1"},
    {"eth0", "fd31::2"},   {"eth0", "10.231.0.2"}, {"eth0", "10.231.0.12"},
    {"eth1", "192.0.2.7"}, {"ib0", "fe80::9"},     {"six", "fd40::1"}};

absl::StatusOr<std::string> Choose(const std::string& wish, bool here = false) {
  return ChooseAddress(wish, kOwn, here);
}

TEST(Advertise, AddressInterfaceOrNetwork) {
  struct Row {
    const char* wish;
    const char* chosen;
  };
  for (const Row& row : {Row{"192.0.2.7", "192.0.2.7"}, Row{"::ffff:192.0.2.7", "192.0.2.7"},
                         Row{"fd31::2", "fd31::2"}, Row{"eth0", "10.231.0.2"},
                         Row{"eth1", "192.0.2.7"}, Row{"six", "fd40::1"},
                         Row{"10.231.0.0/16", "10.231.0.2"}, Row{"10.231.0.8/29", "10.231.0.12"},
                         Row{"fd31::/64", "fd31::2"}, Row{"192.0.2.7/32", "192.0.2.7"}}) {
    ASSERT_OK_AND_ASSIGN(const std::string chosen, Choose(row.wish));
    EXPECT_EQ(chosen, row.chosen) << row.wish;
  }
}

TEST(Advertise, WhatThisHostDoesNotHaveIsRefusedWithWhatItHas) {
  for (const char* wish : {"10.231.0.3", "eth7", "172.16.0.0/12", "fe80::/10", "ib0", "fd31::3"}) {
    EXPECT_THAT(Choose(wish), StatusIs(absl::StatusCode::kNotFound, HasSubstr("eth1 192.0.2.7")))
        << wish;
  }
}

TEST(Advertise, AddressesThatOthersCannotUseAreRefused) {
  for (const char* wish : {"0.0.0.0", "::", "224.0.0.1", "ff02::1", "fe80::1", "10.231.0.0/33",
                           "10.231.0.0/", "a/8"}) {
    EXPECT_THAT(Choose(wish), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(wish)))
        << wish;
  }
}

TEST(Advertise, LoopbackIsForAClusterOfOneHost) {
  for (const char* wish : {"127.0.0.1", "127.0.0.2", "::1", "lo"}) {
    EXPECT_OK(Choose(wish, /*here=*/true)) << wish;
    EXPECT_THAT(Choose(wish), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("loopback")))
        << wish;
  }
}

TEST(Advertise, ReportHasEachAddressThatOthersMaySee) {
  EXPECT_THAT(AddressesToReport("192.0.2.7", kOwn),
              ElementsAre("192.0.2.7", "fd31::2", "10.231.0.2", "10.231.0.12", "fd40::1"));
}

TEST(Advertise, TheFirstAddressThatOthersReachIsAnIpv4Address) {
  ASSERT_OK_AND_ASSIGN(std::string address, FirstReachable(kOwn));
  EXPECT_EQ(address, "10.231.0.2");
  ASSERT_OK_AND_ASSIGN(address,
                       FirstReachable({{"lo", "127.0.0.1"}, {"e", "fe80::1"}, {"e", "fd::1"}}));
  EXPECT_EQ(address, "fd::1");
  EXPECT_THAT(FirstReachable({{"lo", "127.0.0.1"}, {"e", "fe80::1"}}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("--advertise")));
}

TEST(Advertise, ReportIsBounded) {
  std::vector<InterfaceAddress> many;
  for (int i = 1; i < 200; ++i) many.push_back({"eth0", "10.0.0." + std::to_string(i)});
  const std::vector<std::string> addresses = AddressesToReport("10.0.0.150", many);
  EXPECT_EQ(addresses.size(), kMaxReportedAddresses);
  EXPECT_EQ(addresses.front(), "10.0.0.150");
}

}  // namespace
}  // namespace accel::agent
