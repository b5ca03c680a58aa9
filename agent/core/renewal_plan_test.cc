#include "agent/core/renewal_plan.h"

#include <gtest/gtest.h>

namespace accel::agent {
namespace {

constexpr absl::Duration kDay = absl::Hours(24);
const absl::Time kStart = absl::FromUnixSeconds(1'800'000'000);
const absl::Time kNow = absl::FromUnixSeconds(5000);

CertificateSpan From(int day) { return {kStart + day * kDay, kStart + (day + 360) * kDay}; }

RenewalFacts At(int day) { return {.now = kNow, .wall = kStart + day * kDay}; }

TEST(RenewalPlan, ACertificateInUseIsRenewedAfterAThirdOfItsLife) {
  const struct {
    int day;
    double jitter;
    RenewalStep step;
  } cases[] = {
      {-400, 0, RenewalStep::kNone},  // The clock is far behind.
      {0, 0, RenewalStep::kNone},     {119, 0, RenewalStep::kNone},  {120, 0, RenewalStep::kRenew},
      {155, 1, RenewalStep::kNone},   {156, 1, RenewalStep::kRenew}, {359, 1, RenewalStep::kRenew},
      {1000, 1, RenewalStep::kRenew},  // Expired by this clock, but not by the coordinator's
                                       // perhaps.
  };
  for (const auto& each : cases) {
    RenewalFacts facts = At(each.day);
    facts.present = facts.newest = From(0);
    EXPECT_EQ(RenewalPlan(each.jitter).Next(facts), each.step) << each.day << " " << each.jitter;
  }
}

TEST(RenewalPlan, ARenewedOneWaitsForTheNextConnection) {
  const struct {
    int day;
    RenewalStep step;
  } cases[] = {
      {121, RenewalStep::kNone},
      {239, RenewalStep::kNone},
      // The old one has a third of its life left.
      {240, RenewalStep::kTryNewest},
      {359, RenewalStep::kTryNewest},
      {400, RenewalStep::kTryNewest},
      // The renewed one is not renewed before it was used.
      {470, RenewalStep::kTryNewest},
  };
  for (const auto& each : cases) {
    RenewalFacts facts = At(each.day);
    facts.present = From(0);
    facts.newest = From(120);
    facts.newest_is_in_use = false;
    EXPECT_EQ(RenewalPlan(0).Next(facts), each.step) << each.day;
  }
}

TEST(RenewalPlan, ARotationIsFollowedAtOnce) {
  RenewalFacts facts = At(1);
  facts.present = facts.newest = From(0);
  RenewalPlan plan(1);
  EXPECT_EQ(plan.Next(facts), RenewalStep::kNone);
  facts.newest_is_outdated = facts.present_is_former = true;
  EXPECT_EQ(plan.Next(facts), RenewalStep::kRenew);
  plan.NoteSuccess(facts.now);
  // The connection moves, so that the coordinator sees the new certificate.
  facts.newest = From(1);
  facts.newest_is_in_use = facts.newest_is_outdated = false;
  EXPECT_EQ(plan.Next(facts), RenewalStep::kTryNewest);
  plan.NoteFailure(facts.now);
  EXPECT_EQ(plan.Next(facts), RenewalStep::kNone);
  facts.now += absl::Minutes(1);
  EXPECT_EQ(plan.Next(facts), RenewalStep::kTryNewest);
  plan.NoteSuccess(facts.now);
  facts.present = facts.newest;
  facts.newest_is_in_use = true;
  facts.present_is_former = false;
  EXPECT_EQ(plan.Next(facts), RenewalStep::kNone);
  // The rotation is finished: another list comes, and the connection is left as it is.
  facts.newest_is_outdated = true;
  EXPECT_EQ(plan.Next(facts), RenewalStep::kNone);
  facts.now += absl::Minutes(1);
  EXPECT_EQ(plan.Next(facts), RenewalStep::kRenew);
  plan.NoteSuccess(facts.now);
  facts.newest_is_in_use = facts.newest_is_outdated = false;
  EXPECT_EQ(plan.Next(facts), RenewalStep::kNone);
  // The next rotation begins before that one was used.
  facts.newest_is_outdated = true;
  EXPECT_EQ(plan.Next(facts), RenewalStep::kTryNewest);
}

TEST(RenewalPlan, FailuresAreRetriedAfterPausesThatGrow) {
  RenewalFacts facts = At(200);
  facts.present = facts.newest = From(0);
  RenewalPlan plan(1);
  for (const int minutes : {1, 2, 4, 8, 16, 32, 60, 60, 60}) {
    plan.NoteFailure(facts.now);
    facts.now += absl::Minutes(minutes) - absl::Seconds(1);
    EXPECT_EQ(plan.Next(facts), RenewalStep::kNone) << minutes;
    facts.now += absl::Seconds(1);
    EXPECT_EQ(plan.Next(facts), RenewalStep::kRenew) << minutes;
  }
  plan.NoteSuccess(facts.now);
  facts.now += absl::Minutes(59);
  EXPECT_EQ(plan.Next(facts), RenewalStep::kNone);
  plan.NoteFailure(facts.now);
  facts.now += absl::Minutes(1);
  EXPECT_EQ(plan.Next(facts), RenewalStep::kRenew);
}

TEST(RenewalPlan, SaysHowMuchTimeIsLeft) {
  const struct {
    absl::Duration left;
    const char* text;
    bool is_urgent;
  } cases[] = {
      {100 * kDay, "100 days", false},
      {7 * kDay, "7 days", false},
      {6.9 * kDay, "6 days", true},
      {47 * absl::Hours(1), "47 hours", true},
      {119 * absl::Minutes(1), "119 minutes", true},
      {absl::ZeroDuration(), "nothing", true},
      {-kDay, "nothing", true},
  };
  const CertificateSpan span = From(0);
  for (const auto& each : cases) {
    EXPECT_EQ(TimeLeft(span, span.not_after - each.left), each.text);
    EXPECT_EQ(IsUrgent(span, span.not_after - each.left), each.is_urgent) << each.text;
  }
}

}  // namespace
}  // namespace accel::agent
