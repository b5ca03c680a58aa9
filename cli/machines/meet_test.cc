#include "cli/machines/meet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/status_matchers.h"

namespace accel::cli {
namespace {

using accel::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Returns a place on loopback with a port that is free now.
MeetingPlace Place(std::optional<int> machine_rank = std::nullopt) {
  MeetingPlace place;
  place.host = "127.0.0.1";
  place.port = absl::StrCat(coordinator::ListenOn({.host = "127.0.0.1", .port = "0"})->port);
  place.machine_rank = machine_rank;
  return place;
}

TEST(Meet, TheFirstOnOneHostServesAndTheSecondJoins) {
  const MeetingPlace place = Place();
  ASSERT_OK_AND_ASSIGN(const Part first, Meet(place));
  EXPECT_TRUE(first.listener.has_value());
  EXPECT_THAT(first.serves, ElementsAre(place.text()));
  EXPECT_EQ(first.address, "127.0.0.1");
  ASSERT_OK_AND_ASSIGN(const Part second, Meet(place));
  EXPECT_FALSE(second.listener.has_value());
  EXPECT_THAT(second.serves, ElementsAre(place.text()));
  EXPECT_EQ(second.address, "127.0.0.1");
  EXPECT_EQ(second.why_not,
            absl::StrCat("it cannot listen on ", place.text(), " (Address already in use)"));
}

TEST(Meet, AMachineWithARankAboveZeroNeverServes) {
  ASSERT_OK_AND_ASSIGN(const Part part, Meet(Place(1)));
  EXPECT_FALSE(part.listener.has_value());
}

TEST(Meet, MachineRankZeroMustServe) {
  MeetingPlace place = Place(0);
  ASSERT_OK_AND_ASSIGN(const Part part, Meet(place));
  EXPECT_TRUE(part.listener.has_value());
  EXPECT_THAT(Meet(place), StatusIs(absl::StatusCode::kFailedPrecondition,
                                    AllOf(HasSubstr("this machine has machine_rank 0"),
                                          HasSubstr("--machine_rank 1 or higher"))));
  place.host = "192.0.2.1";  // An address reserved for documentation.
  EXPECT_THAT(Meet(place), StatusIs(absl::StatusCode::kFailedPrecondition,
                                    HasSubstr("cannot listen on 192.0.2.1")));
}

TEST(Meet, ANameThatDoesNotResolveMayResolveLater) {
  MeetingPlace place = Place();
  place.host = "no host has spaces";
  EXPECT_THAT(Meet(place), StatusIs(absl::StatusCode::kUnavailable, HasSubstr(place.host)));
}

TEST(Meet, TheAddressMayBeChosen) {
  MeetingPlace place = Place();
  place.advertise = "127.0.0.7";
  ASSERT_OK_AND_ASSIGN(const Part part, Meet(place));
  EXPECT_EQ(part.address, "127.0.0.7");
  place.advertise = "no_such_interface";
  EXPECT_THAT(Meet(place),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("--advertise no_such_interface")));
}

}  // namespace
}  // namespace accel::cli
