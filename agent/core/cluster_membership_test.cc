#include "agent/core/cluster_membership.h"

#include <gtest/gtest.h>

namespace accel::agent {
namespace {

using Verdict = ClusterMembership::Verdict;

constexpr ClusterHoldings kNothing{};
constexpr ClusterHoldings kProcesses{.processes = true, .results = true};
constexpr ClusterHoldings kResults{.processes = false, .results = true};

const absl::Time kNow = absl::UnixEpoch();

TEST(ClusterMembership, ObeysItsOwnCluster) {
  ClusterMembership membership("a");
  for (const ClusterHoldings& holdings : {kNothing, kResults, kProcesses}) {
    EXPECT_EQ(membership.Judge("a", holdings, kNow), Verdict::kObey);
  }
}

TEST(ClusterMembership, ACoordinatorOfAnOlderReleaseNamesNoClusterAndIsObeyed) {
  EXPECT_EQ(ClusterMembership("a").Judge("", kProcesses, kNow), Verdict::kObey);
}

// An agent of an older release has stored no id either.
TEST(ClusterMembership, AnAgentWithoutAClusterJoinsTheFirstThatItMeets) {
  ClusterMembership membership("");
  EXPECT_EQ(membership.Judge("a", kProcesses, kNow), Verdict::kJoin);
  membership.Join("a");
  EXPECT_EQ(membership.cluster(), "a");
  EXPECT_EQ(membership.Judge("a", kProcesses, kNow), Verdict::kObey);
  EXPECT_EQ(membership.Judge("b", kProcesses, kNow), Verdict::kRefuse);
}

TEST(ClusterMembership, ProcessesKeepAnAgentInItsCluster) {
  ClusterMembership membership("a");
  EXPECT_EQ(membership.Judge("b", kProcesses, kNow), Verdict::kRefuse);
  EXPECT_EQ(membership.Judge("b", kProcesses, kNow + absl::Hours(1'000)), Verdict::kRefuse);
  EXPECT_EQ(membership.Judge("b", kNothing, kNow), Verdict::kJoin);
}

TEST(ClusterMembership, ResultsAreKeptForAWhile) {
  ClusterMembership membership("a");
  EXPECT_EQ(membership.Judge("b", kProcesses, kNow), Verdict::kRefuse);
  const absl::Time ended = kNow + absl::Hours(1);
  const absl::Time kept_until = ended + ClusterMembership::kKeepsResults;
  EXPECT_EQ(membership.Judge("b", kResults, ended), Verdict::kRefuse);
  EXPECT_EQ(membership.Judge("b", kResults, kept_until - absl::Seconds(1)), Verdict::kRefuse);
  EXPECT_EQ(membership.Judge("b", kResults, kept_until), Verdict::kJoin);
}

TEST(ClusterMembership, TheWhileBeginsAgainOnceItsOwnCoordinatorWasBack) {
  ClusterMembership membership("a");
  EXPECT_EQ(membership.Judge("b", kResults, kNow), Verdict::kRefuse);
  const absl::Time later = kNow + ClusterMembership::kKeepsResults;
  EXPECT_EQ(membership.Judge("a", kResults, later), Verdict::kObey);
  EXPECT_EQ(membership.Judge("b", kResults, later), Verdict::kRefuse);
}

}  // namespace
}  // namespace accel::agent
