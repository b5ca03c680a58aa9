#include "coordinator/core/report_effects.h"

#include <gtest/gtest.h>

#include "common/status_matchers.h"
#include "coordinator/core/cluster_state_fixture.h"
#include "coordinator/core/desired_state.h"

namespace accel::coordinator {
namespace {

// A node on which a generation has just started.
class ReportEffects : public ClusterStateTest {
 protected:
  void SetUp() override {
    ASSERT_OK(Report("a", 1, 1));
    job_ = Submit().value();
    Rest();
    Node().clock.Sent(state_.revision, now_);
    report_ = Observed("a", 2);
    report_.set_applied_version(state_.revision);
    v1::ObservedGeneration* const part = report_.add_generations();
    part->set_job_id(job_.value());
    part->set_generation(1);
    part->set_state(v1::ObservedGeneration::RUNNING);
    report_.set_sequence(1);
    Send();
  }

  NodeEntry& Node() { return state_.nodes.at(common::NodeId("a")); }
  v1::ObservedGeneration& Part() { return *report_.mutable_generations(0); }
  std::string Signature() { return DesiredSignature(state_, Node(), {}); }
  bool MayChange() { return MayChangeDesired(Node(), report_, now_); }

  // Sends the report. Returns true if it changes the desired state of the node, or if the node is
  // to be told something because of it.
  bool Send() {
    const std::string before = Signature();
    report_.set_sequence(report_.sequence() + 1);
    changes_ = {};
    EXPECT_OK(Report(1, report_));
    const bool is_told = changes_.nodes.contains(common::NodeId("a"));
    EXPECT_TRUE(is_told || Signature() == before) << "what the node must do has changed";
    return is_told;
  }

  common::JobId job_;
  v1::NodeObserved report_;
};

TEST_F(ReportEffects, ANodeThatHasStartedItsPartMustDoNothingElse) {
  report_.set_refuses_work("no disk");
  EXPECT_FALSE(MayChange());
  EXPECT_FALSE(Send());
  Part().set_state(v1::ObservedGeneration::STARTING);
  EXPECT_FALSE(Send());
}

TEST_F(ReportEffects, APartThatHasEndedMustBeForgottenAndThenNotAgain) {
  Part().set_state(v1::ObservedGeneration::ENDED);
  EXPECT_TRUE(MayChange());
  EXPECT_TRUE(Send());
  Rest();  // The job ends.
  report_.clear_generations();
  EXPECT_TRUE(MayChange());
  EXPECT_TRUE(Send());
  report_.set_refuses_work("no disk");
  EXPECT_FALSE(Send());
}

TEST_F(ReportEffects, AGoodbyeIsTakenAndSoIsItsEnd) {
  report_.set_goodbye("the host shuts down");
  EXPECT_TRUE(Send());
  report_.clear_goodbye();
  EXPECT_TRUE(Send());
  report_.set_refuses_work("no disk");
  EXPECT_FALSE(Send());
}

TEST_F(ReportEffects, ASocketThatNoGenerationHoldsMustBeClosed) {
  Node().consumed_sockets[7] = false;
  v1::StoreSocket* const socket = report_.add_store_sockets();
  socket->set_id(7);
  socket->set_address("127.0.0.1");
  EXPECT_TRUE(Send());
  report_.clear_store_sockets();
  EXPECT_TRUE(Send());
  report_.set_refuses_work("no disk");
  EXPECT_FALSE(Send());
}

TEST_F(ReportEffects, AfterARebootPartsOfTheOldBootMustNotStart) {
  report_.set_boot_id("2");
  EXPECT_TRUE(Send());
}

TEST_F(ReportEffects, ANodeWithJobsIsAnsweredFromTimeToTime) {
  now_ += absl::Hours(1);
  EXPECT_TRUE(MayChange());
  EXPECT_TRUE(Send());
}

}  // namespace
}  // namespace accel::coordinator
