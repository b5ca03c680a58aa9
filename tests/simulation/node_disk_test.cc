#include "tests/simulation/node_disk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "common/simulated_clock.h"
#include "common/status_matchers.h"
#include "tests/simulation/schedule.h"

namespace accel::simulation {
namespace {

using ::accel::testing::StatusIs;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::Optional;

class NodeDiskTest : public ::testing::Test {
 protected:
  SeenFaults seen_;
  common::SimulatedClock clock_;
  NodeDisk disk_{/*seed=*/1, &seen_, &clock_};
};

TEST_F(NodeDiskTest, AWriteThatFailsChangesNothing) {
  ASSERT_OK(disk_.Write("shims/a/record.1", "old"));
  disk_.FailFor(absl::Seconds(1), absl::ResourceExhaustedError("full"));
  absl::Status written;
  for (int i = 0; i < 100 && written.ok(); ++i) written = disk_.Write("shims/b/record.1", "new");
  EXPECT_THAT(written, StatusIs(absl::StatusCode::kResourceExhausted, "full"));
  EXPECT_THAT(disk_.Read("shims/a/record.1"), Optional(std::string("old")));
  clock_.Advance(absl::Seconds(1));
  for (int i = 0; i < 100; ++i) EXPECT_OK(disk_.Write("shims/a/record.1", "new"));
}

TEST_F(NodeDiskTest, APowerFailureTakesWhatWasNotSynced) {
  ASSERT_OK(disk_.Write("cluster_id", "home"));
  disk_.Sync("cluster_id");
  int whole = 0;
  int empty = 0;
  for (int i = 0; i < 100; ++i) {
    ASSERT_OK(disk_.Write("shims/a/record.1", "text"));
    disk_.LosePower();
    EXPECT_THAT(disk_.Read("cluster_id"), Optional(std::string("home")));
    const auto left = disk_.Read("shims/a/record.1");
    whole += left == "text";
    empty += left == "";
    EXPECT_THAT(left, AnyOf(std::nullopt, Optional(std::string("text")), Optional(std::string())));
    disk_.Remove("shims/a/");
  }
  EXPECT_GT(whole, 0);
  EXPECT_GT(empty, 0);
  EXPECT_LT(whole + empty, 100);
}

TEST_F(NodeDiskTest, ListsFolders) {
  for (const char* path : {"shims/a/record.1", "shims/a/started", "shims/b/record.1", "x"}) {
    ASSERT_OK(disk_.Write(path, ""));
  }
  EXPECT_THAT(disk_.List("shims/"), ElementsAre("a", "b"));
  disk_.Remove("shims/a/");
  EXPECT_THAT(disk_.List("shims/"), ElementsAre("b"));
}

// A node that cannot write a record says so, and the job runs elsewhere.
TEST(NodeDisk, AJobOfANodeWithAFullDiskGoesElsewhere) {
  const PlantedBug none;
  UnreliableCluster cluster(1, &none);
  for (const char* words : {"node_disk_full n1 1m", "node_disk_fails n2 1m",
                            "submit 1 nodes=1 processes=1 cpu max_restarts=0"}) {
    ASSERT_OK(Perform({absl::ZeroDuration(), words}, &cluster));
  }
  bool started = false;
  for (int i = 0; i < 400 && !started; ++i) {
    ASSERT_OK(cluster.Run(absl::Milliseconds(50)));
    for (const auto& [job, shim] : cluster.node("n3")->processes().shims()) {
      started |= shim.generation.has_value() && shim.generation->id.generation > 1;
    }
  }
  EXPECT_TRUE(started);
  EXPECT_TRUE(cluster.seen().contains("write on a node that failed"));
}

}  // namespace
}  // namespace accel::simulation
