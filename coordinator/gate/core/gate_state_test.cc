#include "coordinator/gate/core/gate_state.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "absl/strings/str_cat.h"

namespace accel::coordinator {
namespace {

constexpr absl::Time kStart = absl::UnixEpoch();

GateLimits Small() {
  GateLimits limits;
  limits.open = 20;
  limits.waiting = 10;
  limits.per_source = 8;
  limits.pending_strangers = 4;
  limits.pending_known = 4;
  limits.pending_per_source = 2;
  limits.enrolling = 1;
  limits.known_sources = 2;
  return limits;
}

class GateStateTest : public ::testing::Test {
 protected:
  // Accepts a connection and returns its id.
  ConnectionId Accept(const std::string& source) {
    const ConnectionId id = next_++;
    admission_ = state_.Accept(id, source, /*crowded=*/false, now_);
    return id;
  }
  ConnectionId Park(const std::string& source) {
    const ConnectionId id = Accept(source);
    state_.Park(id, /*enrols=*/false, now_);
    return id;
  }
  std::vector<ConnectionId> Release() {
    std::vector<ConnectionId> ids;
    for (const auto& released : state_.Release(now_)) ids.push_back(released.id);
    return ids;
  }
  void MakeKnown(const std::string& source) {
    const ConnectionId id = Park(source);
    Release();
    EXPECT_TRUE(state_.Authenticated(id, "07"));
    state_.Closed(id);
  }

  GateState state_{Small()};
  GateState::Admission admission_;
  ConnectionId next_ = 1;
  absl::Time now_ = kStart;
};

TEST_F(GateStateTest, AFloodFromOneSourceLeavesPlacesForOthers) {
  for (int i = 0; i < 6; ++i) Park("flood");
  EXPECT_EQ(Release(), (std::vector<ConnectionId>{1, 2}));
  const ConnectionId honest = Park("honest");
  EXPECT_EQ(Release(), (std::vector<ConnectionId>{honest}));
}

TEST_F(GateStateTest, StrangersCannotTakeThePlacesOfKnownSources) {
  MakeKnown("node");
  for (const char* source : {"a", "b", "c"}) {
    Park(source);
    Park(source);
  }
  EXPECT_EQ(Release().size(), 4u);
  const ConnectionId node = Park("node");
  EXPECT_EQ(Release(), (std::vector<ConnectionId>{node}));
}

TEST_F(GateStateTest, AValidCallFreesThePlace) {
  const ConnectionId first = Park("a");
  Park("a");
  const ConnectionId third = Park("a");
  EXPECT_EQ(Release().size(), 2u);
  EXPECT_TRUE(Release().empty());
  EXPECT_TRUE(state_.Authenticated(first, "07"));
  EXPECT_FALSE(state_.Authenticated(first, "07"));
  EXPECT_EQ(Release(), (std::vector<ConnectionId>{third}));
}

TEST_F(GateStateTest, OnlyOpenConnectionsHaveNoDeadline) {
  const ConnectionId silent = Accept("a");
  const ConnectionId pending = Park("b");
  const ConnectionId open = Park("c");
  Release();
  state_.Authenticated(open, "07");
  EXPECT_EQ(state_.next_deadline(), kStart + absl::Seconds(5));
  EXPECT_TRUE(state_.Expire(kStart + absl::Seconds(4)).empty());
  EXPECT_EQ(state_.Expire(kStart + absl::Seconds(5)), (std::vector<ConnectionId>{silent, pending}));
  EXPECT_EQ(state_.next_deadline(), absl::InfiniteFuture());
  EXPECT_EQ(state_.size(), 1);
  EXPECT_EQ(state_.counts().expired, 2);
}

TEST_F(GateStateTest, AParkedConnectionWaitsThirtySeconds) {
  for (int i = 0; i < 3; ++i) Park("a");
  Release();
  EXPECT_EQ(state_.Expire(kStart + absl::Seconds(29)).size(), 2u);
  EXPECT_EQ(state_.Expire(kStart + absl::Seconds(30)), (std::vector<ConnectionId>{3}));
}

TEST_F(GateStateTest, TheOldestThatIsSilentForLongerThanARoundTripGoesFirst) {
  for (int i = 0; i < 6; ++i) Park("greedy");
  const ConnectionId silent = Accept("slow");
  now_ += absl::Seconds(1);
  for (const char* source : {"a", "b", "c"}) Accept(source);
  const ConnectionId newest = Accept("new");
  EXPECT_EQ(admission_.evicted, silent);
  EXPECT_TRUE(admission_.admitted);
  state_.Park(newest, /*enrols=*/false, now_);
  EXPECT_EQ(state_.counts().evicted, 1);
}

TEST_F(GateStateTest, AStrangerGoesBeforeAKnownSource) {
  MakeKnown("node");
  Accept("node");
  const ConnectionId silent = Accept("a");
  for (int i = 0; i < 8; ++i) Accept("b");
  Accept("c");
  EXPECT_EQ(admission_.evicted, silent);
}

TEST_F(GateStateTest, AParkedStrangerGoesBeforeASilentKnownSource) {
  MakeKnown("node");
  Accept("node");
  ConnectionId newest = 0;
  for (int i = 0; i < 8; ++i) newest = Park("greedy");
  Park("a");
  now_ += absl::Seconds(2);
  Accept("new");
  EXPECT_EQ(admission_.evicted, newest);
}

TEST_F(GateStateTest, ASilentStrangerHasTheTimeOfARoundTrip) {
  ConnectionId newest = 0;
  for (int i = 0; i < 8; ++i) newest = Park("greedy");
  Park("a");
  Accept("slow");
  Accept("new");
  EXPECT_EQ(admission_.evicted, newest);
}

TEST_F(GateStateTest, WithoutASilentOneTheGreediestSourceLosesItsNewest) {
  for (const char* source : {"a", "b", "c", "d"}) Park(source);
  ConnectionId last = 0;
  for (int i = 0; i < 6; ++i) last = Park("greedy");
  Accept("new");
  EXPECT_EQ(admission_.evicted, last);
}

TEST_F(GateStateTest, OneSourceIsBounded) {
  for (int i = 0; i < 8; ++i) Accept("a");
  const ConnectionId ninth = Accept("a");
  EXPECT_FALSE(admission_.admitted);
  state_.Closed(ninth);
  state_.Closed(1);
  Accept("a");
  EXPECT_TRUE(admission_.admitted);
}

TEST_F(GateStateTest, OpenConnectionsAreNeverEvicted) {
  const auto accept_local = [this] {
    return state_.AcceptOpen(next_++, /*crowded=*/false, now_).admitted;
  };
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(accept_local());
  const ConnectionId waits = Park("a");
  EXPECT_TRUE(Release().empty());
  EXPECT_TRUE(accept_local()) << "the owner can always act";
  state_.Closed(1);
  EXPECT_TRUE(Release().empty());
  state_.Closed(2);
  EXPECT_EQ(Release(), (std::vector<ConnectionId>{waits}));
  EXPECT_FALSE(state_.Accept(next_++, "a", /*crowded=*/true, now_).admitted);
  EXPECT_EQ(state_.Evict(now_), std::nullopt);
}

TEST_F(GateStateTest, ASilentOneMakesRoomForOneWhoseUserTheKernelHasNamed) {
  const ConnectionId silent = Accept("a");
  const auto admission = state_.AcceptOpen(next_++, /*crowded=*/true, now_);
  EXPECT_TRUE(admission.admitted);
  EXPECT_EQ(admission.evicted, silent);
}

TEST_F(GateStateTest, WhenDescriptorsAreShortTheOldestSilentOneMakesRoom) {
  const ConnectionId oldest = Accept("a");
  const auto admission = state_.Accept(next_++, "b", /*crowded=*/true, now_);
  EXPECT_TRUE(admission.admitted);
  EXPECT_EQ(admission.evicted, oldest);
}

TEST_F(GateStateTest, EnrolmentsHavePlacesOfTheirOwn) {
  const ConnectionId first = Accept("a");
  const ConnectionId second = Accept("b");
  state_.Park(first, /*enrols=*/true, now_);
  state_.Park(second, /*enrols=*/true, now_);
  const auto released = state_.Release(now_);
  ASSERT_EQ(released.size(), 1u);
  EXPECT_EQ(released[0].id, first);
  EXPECT_TRUE(released[0].enrols);
  EXPECT_EQ(state_.Expire(kStart + absl::Seconds(3)), (std::vector<ConnectionId>{first}));
  EXPECT_EQ(Release(), (std::vector<ConnectionId>{second}));
}

TEST_F(GateStateTest, FindsTheConnectionsOfACredential) {
  const ConnectionId first = Park("a");
  const ConnectionId second = Park("b");
  Release();
  EXPECT_TRUE(state_.OfSerial("07").empty());
  EXPECT_EQ(state_.SerialOf(first), "");
  state_.Authenticated(first, "07");
  state_.Authenticated(second, "07");
  state_.Authenticated(second, "08");  // A connection has one certificate.
  EXPECT_EQ(state_.OfSerial("07"), (std::vector<ConnectionId>{first, second}));
  EXPECT_EQ(state_.SerialOf(second), "07");
  state_.Closed(first);
  EXPECT_EQ(state_.SerialOf(first), "");
  EXPECT_EQ(state_.OfSerial("07"), (std::vector<ConnectionId>{second}));
  EXPECT_TRUE(state_.OfSerial("08").empty());
}

TEST_F(GateStateTest, TheLatestKnownSourcesAreRemembered) {
  for (const char* source : {"a", "b", "a", "c"}) MakeKnown(source);
  KnownSources known(2);
  for (const char* source : {"a", "b", "a", "c"}) known.Remember(source);
  EXPECT_TRUE(known.Contains("a"));
  EXPECT_FALSE(known.Contains("b"));
  EXPECT_TRUE(known.Contains("c"));
}

// Random events never break a bound, and leave nothing behind.
TEST_F(GateStateTest, BoundsHoldAfterAnyEvents) {
  std::mt19937 random(11);
  const GateLimits limits = Small();
  for (int i = 0; i < 200'000; ++i) {
    const ConnectionId id = next_ - random() % std::min<ConnectionId>(next_, 30);
    switch (random() % 8) {
      case 0:
      case 1:
        Accept(absl::StrCat(random() % 5));
        break;
      case 2:
        // The owner's connections have no bound.
        if (state_.size() < limits.open) state_.AcceptOpen(next_++, random() % 2 == 0, now_);
        break;
      case 3:
        state_.Park(id, random() % 4 == 0, now_);
        break;
      case 4:
        Release();
        break;
      case 5:
        state_.Authenticated(id, absl::StrCat(random() % 3));
        break;
      case 6:
        state_.Closed(id);
        break;
      case 7:
        now_ += absl::Milliseconds(random() % 500);
        state_.Expire(now_);
        break;
    }
    ASSERT_LE(state_.size(), limits.open + limits.waiting);
    ASSERT_GT(state_.next_deadline(), now_);
  }
  for (ConnectionId id = 1; id < next_; ++id) state_.Closed(id);
  EXPECT_EQ(state_.size(), 0);
  EXPECT_EQ(state_.next_deadline(), absl::InfiniteFuture());
  for (int i = 0; i < 2; ++i) Park("fresh");
  EXPECT_EQ(Release().size(), 2u);
}

}  // namespace
}  // namespace accel::coordinator
