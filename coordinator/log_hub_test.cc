#include "coordinator/log_hub.h"

#include <gtest/gtest.h>

#include <memory>

#include "common/status_matchers.h"

namespace accel::coordinator {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

class LogHubTest : public ::testing::Test {
 protected:
  LogHubTest() {
    job_.set_job_id("j");
    job_.set_phase(v1::RUNNING);
    job_.add_generations()->set_generation(1);
  }

  void Place(const std::string& node, int first_rank, int processes) {
    NodeEntry& entry = state_.nodes[common::NodeId(node)];
    entry.session = 1;
    entry.last_heard = now_;
    v1::Placement* placement = job_.mutable_generations(0)->add_placements();
    placement->set_node_id(node);
    placement->set_first_rank(first_rank);
    placement->set_processes(processes);
  }

  absl::StatusOr<std::vector<common::NodeId>> Begin(LogReadId read, int rank = -1) {
    v1::ReadLogsRequest request;
    request.set_rank(rank);
    return hub_.Begin(read, request, job_, state_, now_, std::make_shared<LogPipe>());
  }

  const absl::Time now_ = absl::UnixEpoch() + absl::Hours(1);
  ClusterState state_;
  v1::Job job_;
  LogHub hub_;
};

TEST_F(LogHubTest, TooManyRanksToReadAtOnceIsAnErrorThatSaysSo) {
  for (int i = 0; i < 5; ++i) Place(std::string(1, static_cast<char>('a' + i)), i * 1000, 1000);
  EXPECT_THAT(Begin(1), StatusIs(absl::StatusCode::kInvalidArgument,
                                 HasSubstr("has 5000 ranks, and the output of at most 4096 can be "
                                           "read at the same time; choose one with --rank")));
  EXPECT_OK(Begin(2, 4321));
}

TEST_F(LogHubTest, ReadersAreBoundedTogetherAndMakeRoomWhenTheyEnd) {
  Place("a", 0, 1000);
  for (LogReadId read = 1; read <= 4; ++read) ASSERT_OK(Begin(read));
  EXPECT_THAT(Begin(5),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("of 4000 ranks is already being read, and the maximum is 4096")));
  hub_.End(1);
  EXPECT_OK(Begin(6));
}

TEST_F(LogHubTest, EachNodeLearnsItsOwnReadersAlone) {
  Place("a", 0, 2);
  Place("b", 2, 1);
  ASSERT_OK(Begin(1));
  const auto on_a = hub_.ReadersOn(common::NodeId("a"));
  const auto on_b = hub_.ReadersOn(common::NodeId("b"));
  ASSERT_EQ(on_a.size(), 2u);
  ASSERT_EQ(on_b.size(), 1u);
  EXPECT_EQ(on_b[0].rank(), 2);
  // One id reveals nothing about another.
  EXPECT_NE(on_a[0].reader_id().substr(0, 16), on_a[1].reader_id().substr(0, 16));
  EXPECT_NE(on_a[0].reader_id().substr(0, 16), on_b[0].reader_id().substr(0, 16));
  EXPECT_NE(hub_.FindPipe(on_b[0].reader_id()), nullptr);
}

// The node needs the folder, because it may have forgotten the job by then.
TEST_F(LogHubTest, ANodeIsToldWhereAJobsOutputLies) {
  job_.mutable_spec()->set_log_dir("/mine");
  Place("a", 0, 1);
  ASSERT_OK(Begin(1));
  EXPECT_EQ(hub_.ReadersOn(common::NodeId("a"))[0].log_dir(), "/mine");
}

}  // namespace
}  // namespace accel::coordinator
