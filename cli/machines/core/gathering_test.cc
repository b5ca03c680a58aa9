#include "cli/machines/core/gathering.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status_matchers.h"

namespace accel::cli {
namespace {

using accel::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

v1::RunMachine Machine(const std::string& host, const std::string& address) {
  v1::RunMachine machine;
  machine.set_host(host);
  machine.set_address(address);
  machine.set_version("1");
  v1::RunTerm* term = machine.add_terms();
  term->set_name("the program");
  term->set_value("train.py --lr 1");
  return machine;
}

v1::RunMachine Ranked(const std::string& host, int rank) {
  v1::RunMachine machine = Machine(host, "10.0.0.1");
  machine.set_machine_rank(rank);
  return machine;
}

// Returns the names of the members, in the order of their machine ranks.
std::vector<std::string> Order(const Gathering& gathering) {
  std::vector<std::string> names(gathering.members().size());
  for (const auto& [id, member] : gathering.members()) {
    names.at(static_cast<size_t>(member.placement_order - 1)) = member.node_name;
  }
  return names;
}

TEST(Gathering, IsCompleteWhenAllAreHere) {
  Gathering gathering(2);
  ASSERT_OK(gathering.Join(Machine("h1", "10.0.0.1")));
  EXPECT_FALSE(gathering.complete());
  EXPECT_EQ(gathering.members().begin()->second.placement_order, 0);
  ASSERT_OK(gathering.Join(Machine("h2", "10.0.0.2")));
  EXPECT_TRUE(gathering.complete());
  EXPECT_THAT(Order(gathering), ElementsAre("h1", "h2"));
}

TEST(Gathering, AMachineTooManyIsRefused) {
  Gathering gathering(1);
  ASSERT_OK(gathering.Join(Machine("h1", "10.0.0.1")));
  EXPECT_THAT(
      gathering.Join(Machine("h2", "10.0.0.2")),
      StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("the run has its 1 machine;")));
}

TEST(Gathering, AMachineThatLeavesMakesRoomUntilAllAreHere) {
  Gathering gathering(2);
  ASSERT_OK(gathering.Join(Machine("h1", "10.0.0.1")));
  ASSERT_OK_AND_ASSIGN(const int second, gathering.Join(Ranked("h2", 1)));
  gathering.Leave(second);
  EXPECT_TRUE(gathering.complete());
  EXPECT_THAT(gathering.Join(Ranked("h2", 1)),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("2 machines")));
  Gathering open(3);
  ASSERT_OK(open.Join(Machine("h1", "10.0.0.1")));
  ASSERT_OK_AND_ASSIGN(const int left, open.Join(Ranked("h2", 1)));
  open.Leave(left);
  EXPECT_THAT(open.Hosts(), ElementsAre("h1"));
  EXPECT_OK(open.Join(Ranked("h2", 1)));
  EXPECT_FALSE(open.complete());
}

TEST(Gathering, OtherTermsAreNamedOnBothSides) {
  Gathering gathering(2);
  ASSERT_OK(gathering.Join(Machine("h1", "10.0.0.1")));
  v1::RunMachine other = Machine("h2", "10.0.0.2");
  other.mutable_terms(0)->set_value("train.py --lr 2");
  EXPECT_THAT(gathering.Join(other),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("the program differs: h1 has \"train.py --lr 1\""),
                             HasSubstr("h2 has \"train.py --lr 2\""))));
  other = Machine("h2", "10.0.0.2");
  other.set_version("2");
  EXPECT_THAT(gathering.Join(other),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("the version of accel")));
  other = Machine("h2", "10.0.0.2");
  other.add_terms()->set_name("num_processes");
  EXPECT_THAT(gathering.Join(other), StatusIs(absl::StatusCode::kInvalidArgument,
                                              HasSubstr("num_processes differs: h1 has nothing")));
  other.clear_terms();
  EXPECT_THAT(gathering.Join(other),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("h2 has nothing")));
  EXPECT_THAT(gathering.Hosts(), ElementsAre("h1"));
}

TEST(Gathering, MachineRanksAreHonoured) {
  Gathering gathering(4);
  ASSERT_OK(gathering.Join(Ranked("d", 2)));
  ASSERT_OK(gathering.Join(Ranked("c", 0)));
  EXPECT_THAT(gathering.Join(Ranked("x", 2)), StatusIs(absl::StatusCode::kAlreadyExists,
                                                       HasSubstr("d already has machine_rank 2")));
  EXPECT_THAT(gathering.Join(Ranked("x", 4)),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("from 0 to 3")));
  EXPECT_THAT(gathering.Join(Ranked("x", -1)),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("from 0 to 3")));
  ASSERT_OK(gathering.Join(Machine("b", "10.0.0.9")));
  ASSERT_OK(gathering.Join(Machine("a", "10.0.0.8")));
  EXPECT_THAT(Order(gathering), ElementsAre("c", "a", "d", "b"));
}

TEST(Gathering, WithoutMachineRanksTheOneThatServesIsFirstAndThenAddressesDecide) {
  Gathering gathering(3);
  ASSERT_OK(gathering.Join(Machine("z", "10.0.0.7")));
  ASSERT_OK(gathering.Join(Machine("b", "10.0.0.10")));
  ASSERT_OK(gathering.Join(Machine("a", "10.0.0.9")));
  EXPECT_THAT(Order(gathering), ElementsAre("z", "a", "b"));
}

TEST(Gathering, HostsOfOneNameGetOtherNodeNames) {
  Gathering gathering(3);
  for (int i = 0; i < 3; ++i) ASSERT_OK(gathering.Join(Machine("h", "127.0.0.1")));
  EXPECT_THAT(gathering.Hosts(), ElementsAre("h", "h-2", "h-3"));
}

TEST(Gathering, WhatAMachineSendsIsBounded) {
  Gathering gathering(2);
  v1::RunMachine bad = Machine(std::string(257, 'x'), "10.0.0.1");
  EXPECT_THAT(gathering.Join(bad), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("host")));
  bad = Machine("h", "h.example");
  EXPECT_THAT(gathering.Join(bad),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("address")));
  bad = Machine("h", "10.0.0.1");
  for (int i = 0; i < kMaxRunTerms; ++i) bad.add_terms();
  EXPECT_THAT(gathering.Join(bad),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("513; at most 512")));
  bad = Machine("h", "10.0.0.1");
  bad.mutable_terms(0)->set_value(std::string(kMaxRunTermBytes, 'x'));
  EXPECT_THAT(gathering.Join(bad),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("bytes; at most")));
}

TEST(Gathering, TextSaysWhoIsHere) {
  EXPECT_EQ(GatheringText({"h1"}, 4), "1 of 4 machines is here (h1)");
  EXPECT_EQ(GatheringText({"h1", "h2"}, 4), "2 of 4 machines are here (h1, h2)");
}

}  // namespace
}  // namespace accel::cli
