#include "coordinator/core/refused_peers.h"

#include <gtest/gtest.h>

#include "coordinator/core/job_state.h"
#include "coordinator/core/observe.h"
#include "coordinator/core/planner.h"
#include "coordinator/core/requests.h"

namespace accel::coordinator {
namespace {

const absl::Time kNow = absl::UnixEpoch() + absl::Hours(1);

class RefusedPeersTest : public ::testing::Test {
 protected:
  RefusedPeersTest() {
    v1::JobSpec spec;
    spec.add_argv("train");
    spec.set_nodes(1);
    spec.add_processes_per_node(2);
    EXPECT_TRUE(SubmitJob("s", spec, kNow, &state_, &changes_).ok());
    report_.set_node_id("a");
    report_.set_name("a");
    report_.set_incarnation("1");
    v1::StoreSocket* socket = report_.add_store_sockets();
    socket->set_id(1);
    socket->set_address("127.0.0.1");
    socket->set_port(7000);
    Report();
    PlanToRest(kNow, kNow, &state_, &changes_);
    id_ = state_.jobs.begin()->first;
  }

  void Report() {
    report_.set_sequence(report_.sequence() + 1);
    SessionId superseded = 0;
    EXPECT_TRUE(Observe(1, report_, kNow, &state_, &changes_, &superseded).ok());
  }

  // Reports a part of the job. Returns the number in the job's record.
  int64_t Refused(int64_t count, int generation = 1) {
    report_.clear_generations();
    v1::ObservedGeneration* part = report_.add_generations();
    part->set_job_id(id_.value());
    part->set_generation(generation);
    part->set_state(v1::ObservedGeneration::STARTING);
    part->set_refused_peers(count);
    Report();
    return CurrentGeneration(state_.jobs.at(id_).job)->refused_peers();
  }

  ClusterState state_;
  Changes changes_;
  v1::NodeObserved report_;
  common::JobId id_;
};

TEST_F(RefusedPeersTest, AreStoredWhenTheirNumberGrows) {
  changes_ = {};
  const uint64_t version = state_.jobs.at(id_).job.version();
  EXPECT_EQ(Refused(0), 0);
  EXPECT_FALSE(changes_.put.contains(id_));
  EXPECT_EQ(Refused(3), 3);
  ASSERT_TRUE(changes_.put.contains(id_));
  EXPECT_TRUE(changes_.put.at(id_).generations.contains(1));
  EXPECT_GT(state_.jobs.at(id_).job.version(), version);
  changes_ = {};
  EXPECT_EQ(Refused(3), 3);
  EXPECT_EQ(Refused(2), 3);
  EXPECT_EQ(Refused(-1), 3);
  EXPECT_FALSE(changes_.put.contains(id_));
}

}  // namespace
}  // namespace accel::coordinator
