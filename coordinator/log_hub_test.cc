#include "coordinator/log_hub.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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
    if (rank >= 0) {
      request.add_ranks()->set_first(rank);
      request.mutable_ranks(0)->set_last(rank);
    }
    return Begin(read, request);
  }

  absl::StatusOr<std::vector<common::NodeId>> Begin(LogReadId read,
                                                    const v1::ReadLogsRequest& request) {
    pipe_ = std::make_shared<LogPipe>();
    return hub_.Begin(read, request, job_, state_, pipe_);
  }

  v1::LogReader OnlyReaderOn(const std::string& node) {
    const auto readers = hub_.ReadersOn(common::NodeId(node));
    EXPECT_EQ(readers.size(), 1u);
    return readers.empty() ? v1::LogReader() : readers[0];
  }

  void Disconnect(const std::string& node) {
    state_.nodes[common::NodeId(node)].session = 0;
    hub_.LoseNode(common::NodeId(node));
  }

  // The job runs, so its newest generation is live.
  void MakeLive() { state_.jobs[common::JobId("j")].job = job_; }

  // Relays a chunk, which the client pulls.
  void Relay(const std::string& reader_id, int64_t offset, const std::string& data) {
    v1::LogChunk chunk;
    chunk.set_reader_id(reader_id);
    chunk.set_stream(v1::STDOUT);
    chunk.set_offset(offset);
    chunk.set_data(data);
    Pull();
    hub_.FindPipe(reader_id, Owner())->Push(chunk, [](bool) {});
  }

  void Pull() {
    pipe_->Pull([this](std::optional<v1::LogChunk> chunk, absl::Status end) {
      if (chunk.has_value()) {
        chunks_.push_back(*chunk);
      } else {
        end_ = end;
      }
    });
  }

  const absl::Time now_ = absl::UnixEpoch() + absl::Hours(1);
  ClusterState state_;
  v1::Job job_;
  LogHub hub_;
  std::shared_ptr<LogPipe> pipe_;
  std::vector<v1::LogChunk> chunks_;
  std::optional<absl::Status> end_;
};

TEST_F(LogHubTest, TooManyRanksToReadAtOnceIsAnErrorThatSaysSo) {
  for (int i = 0; i < 5; ++i) Place(std::string(1, static_cast<char>('a' + i)), i * 1000, 1000);
  EXPECT_THAT(
      Begin(1),
      StatusIs(
          absl::StatusCode::kInvalidArgument,
          HasSubstr("5000 ranks of generation 1 of job j are asked for, and the output of at most "
                    "4096 can be read at the same time; choose some with --rank")));
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
  EXPECT_NE(hub_.FindPipe(on_b[0].reader_id(), Owner()), nullptr);
  // A node may relay for its own readers only, even if it learns the id of another one.
  const Caller node_a = {CallerKind::kNode, "a", "05", Role::kViewer};
  EXPECT_NE(hub_.FindPipe(on_a[0].reader_id(), node_a), nullptr);
  EXPECT_EQ(hub_.FindPipe(on_b[0].reader_id(), node_a), nullptr);
}

// The node needs the folder, because it may have forgotten the job by then.
TEST_F(LogHubTest, ANodeIsToldWhereAJobsOutputLies) {
  job_.mutable_spec()->set_log_dir("/mine");
  Place("a", 0, 1);
  ASSERT_OK(Begin(1));
  EXPECT_EQ(hub_.ReadersOn(common::NodeId("a"))[0].log_dir(), "/mine");
}

TEST_F(LogHubTest, ARelayThatBreaksIsListedAgainWhereItsReaderStopped) {
  Place("a", 0, 1);
  ASSERT_OK(Begin(1));
  const std::string first = OnlyReaderOn("a").reader_id();
  ASSERT_TRUE(hub_.FindPipe(first, Owner())->Open(first));
  Relay(first, 0, "12345");
  EXPECT_EQ(hub_.EndRelay(first), common::NodeId("a"));
  const v1::LogReader second = OnlyReaderOn("a");
  EXPECT_NE(second.reader_id(), first);
  EXPECT_EQ(second.stdout_offset(), 5);
  EXPECT_EQ(hub_.FindPipe(first, Owner()), nullptr);
  EXPECT_EQ(hub_.EndRelay(first), std::nullopt) << "it has been replaced already";
}

TEST_F(LogHubTest, ANodeThatReturnsResumesItsReaders) {
  Place("a", 0, 2);
  ASSERT_OK(Begin(1));
  const auto before = hub_.ReadersOn(common::NodeId("a"));
  ASSERT_TRUE(pipe_->Open(before[0].reader_id()));
  Relay(before[0].reader_id(), 0, "12345");
  Disconnect("a");
  const auto after = hub_.ReadersOn(common::NodeId("a"));
  ASSERT_EQ(after.size(), 2u);
  for (const v1::LogReader& reader : after) {
    EXPECT_EQ(hub_.FindPipe(before[0].reader_id(), Owner()), nullptr);
    EXPECT_EQ(reader.stdout_offset(), reader.rank() == before[0].rank() ? 5 : 0);
  }
}

TEST_F(LogHubTest, ARelayThatBreaksAgainAndAgainWithoutOutputEndsTheRank) {
  Place("a", 0, 1);
  ASSERT_OK(Begin(1));
  int breaks = 0;
  while (!hub_.ReadersOn(common::NodeId("a")).empty()) {
    ASSERT_LT(breaks++, 100);
    const std::string id = OnlyReaderOn("a").reader_id();
    ASSERT_TRUE(pipe_->Open(id));
    hub_.EndRelay(id);
  }
  EXPECT_EQ(breaks, LogHub::kMaxBreaks);
  Pull();
  ASSERT_EQ(chunks_.size(), 1u);
  EXPECT_TRUE(chunks_[0].end());
  EXPECT_THAT(chunks_[0].error(), HasSubstr("stops relaying"));
}

TEST_F(LogHubTest, AFollowerOfALiveGenerationWaitsForItsNodeAndIsToldSo) {
  Place("a", 0, 1);
  MakeLive();
  v1::ReadLogsRequest request;
  request.set_follow(true);
  ASSERT_OK(Begin(1, request));
  Disconnect("a");
  hub_.CheckNodes(state_, now_ + absl::Seconds(1));
  hub_.CheckNodes(state_, now_ + absl::Minutes(10));
  hub_.CheckNodes(state_, now_ + absl::Minutes(20));
  state_.nodes[common::NodeId("a")].session = 2;
  hub_.CheckNodes(state_, now_ + absl::Minutes(30));
  for (int i = 0; i < 3; ++i) Pull();
  ASSERT_EQ(chunks_.size(), 2u);
  EXPECT_THAT(chunks_[0].notice(), HasSubstr("not connected; waiting"));
  EXPECT_THAT(chunks_[1].notice(), HasSubstr("connected again"));
  EXPECT_FALSE(chunks_[1].end());
  EXPECT_EQ(OnlyReaderOn("a").rank(), 0);
}

TEST_F(LogHubTest, TheRanksOfALostNodeEndAndTheOthersContinue) {
  Place("a", 0, 1);
  Place("b", 1, 1);
  ASSERT_OK(Begin(1));
  Disconnect("a");
  hub_.CheckNodes(state_, now_ + absl::Seconds(1));
  EXPECT_EQ(hub_.ReadersOn(common::NodeId("a")).size(), 1u) << "it may come back";
  hub_.CheckNodes(state_, now_ + absl::Minutes(1));
  Pull();
  Pull();
  ASSERT_EQ(chunks_.size(), 1u);
  EXPECT_EQ(chunks_[0].rank(), 0);
  EXPECT_THAT(chunks_[0].error(), HasSubstr("not connected"));
  EXPECT_EQ(hub_.ReadersOn(common::NodeId("a")).size(), 0u);
  EXPECT_EQ(hub_.ReadersOn(common::NodeId("b")).size(), 1u);
}

// After the coordinator's start no node is connected, and each gets time to come back.
TEST_F(LogHubTest, ANodeThatThisCoordinatorHasNotSeenGetsTimeToConnect) {
  job_.mutable_generations(0)->add_placements()->set_processes(1);
  job_.mutable_generations(0)->mutable_placements(0)->set_node_id("a");
  state_.present_since = now_;
  ASSERT_OK(Begin(1));
  hub_.CheckNodes(state_, now_ + absl::Seconds(10));
  EXPECT_EQ(OnlyReaderOn("a").rank(), 0);
  hub_.CheckNodes(state_, now_ + absl::Minutes(1));
  EXPECT_EQ(hub_.ReadersOn(common::NodeId("a")).size(), 0u);
}

TEST_F(LogHubTest, PositionsAndSelectionsTravel) {
  Place("a", 0, 3);
  v1::ReadLogsRequest request;
  request.mutable_selection()->set_grep("loss");
  request.add_ranks()->set_last(0);
  v1::RankRange* range = request.add_ranks();
  range->set_first(2);
  range->set_last(2);
  v1::LogPosition* position = request.add_positions();
  position->set_rank(2);
  position->set_stream(v1::STDERR);
  position->set_offset(77);
  ASSERT_OK(Begin(1, request));
  auto readers = hub_.ReadersOn(common::NodeId("a"));
  ASSERT_EQ(readers.size(), 2u);
  if (readers[0].rank() != 0) std::swap(readers[0], readers[1]);
  EXPECT_FALSE(readers[0].has_stdout_offset());
  EXPECT_FALSE(readers[0].has_stderr_offset());
  EXPECT_EQ(readers[1].rank(), 2);
  EXPECT_EQ(readers[1].stderr_offset(), 77);
  EXPECT_FALSE(readers[1].has_stdout_offset());
  EXPECT_EQ(readers[1].selection().grep(), "loss");
}

TEST_F(LogHubTest, WhatCannotBeMeantIsRefused) {
  Place("a", 0, 1);
  EXPECT_THAT(Begin(1, 7), StatusIs(absl::StatusCode::kNotFound, HasSubstr("no rank 7; it has 1")));
  v1::ReadLogsRequest request;
  request.mutable_selection()->set_grep(std::string(1025, 'x'));
  EXPECT_THAT(Begin(1, request), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("grep")));
  request.mutable_selection()->clear_grep();
  request.mutable_selection()->set_tail(-1);
  EXPECT_THAT(Begin(1, request), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("tail")));
  request.mutable_selection()->clear_tail();
  request.mutable_selection()->set_stream(static_cast<v1::LogStream>(77));
  EXPECT_THAT(Begin(1, request), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("77")));
  request.mutable_selection()->clear_stream();
  request.add_positions()->set_offset(-1);
  EXPECT_THAT(Begin(1, request),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("positions")));
}

}  // namespace
}  // namespace accel::coordinator
