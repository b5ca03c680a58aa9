#include "coordinator/access/call_limits.h"

#include <optional>
#include <utility>
#include <vector>

#include "common/status_matchers.h"

namespace accel::coordinator {
namespace {

using testing::StatusIs;

const Caller kAnn = {CallerKind::kUser, "ann", "01", Role::kUser};
const Caller kBob = {CallerKind::kUser, "bob", "02", Role::kUser};
const Caller kNode = {CallerKind::kNode, "ann", "03", Role::kViewer};
constexpr AccessRule kRule = {
    Method::kWatchJob, "accel.v1.Coordinator.WatchJob", Role::kViewer, true, true, 3};
constexpr AccessRule kOther = {
    Method::kListJobs, "accel.v1.Coordinator.ListJobs", Role::kViewer, true, true, 3};
constexpr AccessRule kSubmit = {
    Method::kSubmitJob, "accel.v1.Coordinator.SubmitJob", Role::kUser, false, true, 64};

absl::Time At(double seconds) { return absl::UnixEpoch() + absl::Seconds(seconds); }

class CallLimitsTest : public ::testing::Test {
 protected:
  // Makes a call that lasts. Returns whether it was let in.
  bool Begin(const Caller& caller, const AccessRule& rule) {
    auto place = limits_->Take(caller, rule, At(0));
    if (place.ok()) places_.push_back(*std::move(place));
    return place.ok();
  }
  // Submits until it is refused. Returns how many jobs were let in.
  int SubmitAll(const Caller& caller, double seconds) {
    int count = 0;
    while (limits_->Take(caller, kSubmit, At(seconds)).ok()) ++count;
    return count;
  }

  std::optional<CallLimits> limits_{std::in_place};
  std::vector<CallPlace> places_;
};

TEST_F(CallLimitsTest, ACallerHasAsManyCallsAsTheTableSays) {
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(Begin(kAnn, kRule));
  EXPECT_THAT(limits_->Take(kAnn, kRule, At(0)).status(),
              StatusIs(absl::StatusCode::kUnavailable,
                       "ann has 3 calls of WatchJob in progress, which is the maximum; try again "
                       "when one has ended"));
}

TEST_F(CallLimitsTest, AnEndedCallMakesRoomForOne) {
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(Begin(kAnn, kRule));
  EXPECT_FALSE(Begin(kAnn, kRule));
  places_.pop_back();
  EXPECT_TRUE(Begin(kAnn, kRule));
  EXPECT_FALSE(Begin(kAnn, kRule));
}

TEST_F(CallLimitsTest, OthersAndOtherMethodsHaveTheirOwnRoom) {
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(Begin(kAnn, kRule));
  EXPECT_TRUE(Begin(kBob, kRule));
  EXPECT_TRUE(Begin(kNode, kRule));  // Its name is that of the user.
  EXPECT_TRUE(Begin(kAnn, kOther));
}

TEST_F(CallLimitsTest, TheOwnerHasNoLimit) {
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(Begin(Owner(), kRule));
}

TEST_F(CallLimitsTest, ACallMayOutliveTheLimits) {
  EXPECT_TRUE(Begin(kAnn, kRule));
  limits_.reset();
  places_.clear();
}

TEST_F(CallLimitsTest, AUserSubmitsABurstAndThenAsTimeAllows) {
  EXPECT_EQ(SubmitAll(kAnn, 0), 2'000);
  EXPECT_EQ(SubmitAll(kBob, 0), 2'000);
  EXPECT_EQ(SubmitAll(kAnn, 0.5), 100);
  EXPECT_EQ(SubmitAll(kAnn, 3600), 2'000);
  EXPECT_THAT(limits_->Take(kAnn, kSubmit, At(3600)).status(),
              StatusIs(absl::StatusCode::kUnavailable,
                       "ann submits more than 200 jobs per second; try again later"));
}

TEST_F(CallLimitsTest, ARefusedSubmitTakesNoPlace) {
  SubmitAll(kAnn, 0);
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(limits_->Take(kAnn, kSubmit, At(0)).ok());
  EXPECT_EQ(SubmitAll(kAnn, 1), 200);
}

}  // namespace
}  // namespace accel::coordinator
