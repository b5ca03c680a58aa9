// Tests which reports are refused or ignored, and the bounds of reports and nodes. What follows
// from a report is tested in tests/scenarios.

#include "coordinator/core/observe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status_matchers.h"
#include "coordinator/core/cluster_state_fixture.h"
#include "coordinator/core/node_report_fixture.h"

namespace accel::coordinator {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

class ObserveTest : public ClusterStateTest {};

// Invariant 5.
TEST_F(ObserveTest, ReportsOfOldSessionsAndOutOfSequenceAreRefused) {
  ASSERT_OK(Report("a", 1, 5, "old"));
  CloseSession(1, common::NodeId("a"), &state_);
  ASSERT_OK(Report("a", 2, 1, "new"));
  EXPECT_THAT(Report("a", 1, 6, "old"),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("newer stream")));
  EXPECT_EQ(state_.stale.sessions, 1);
  EXPECT_EQ(state_.nodes.at(common::NodeId("a")).observed.incarnation(), "new");
  ASSERT_OK(Report("a", 2, 1, "new"));  // The report is out of sequence and is ignored.
  EXPECT_EQ(state_.stale.sessions, 2);
  EXPECT_THAT(Report("a", 2, 2, "third"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("changed within")));
  // The end of the old session does not end the new one.
  CloseSession(1, common::NodeId("a"), &state_);
  EXPECT_TRUE(IsConnected(state_, state_.nodes.at(common::NodeId("a")), now_));
}

class WildReports : public ClusterStateTest {
 protected:
  // Sends a report of node a that a correct agent would not send.
  absl::Status ReportWild(uint64_t applied_version, const common::JobId& job = common::JobId(),
                          common::Generation generation = 0) {
    v1::NodeObserved observed = Observed("a", 2);
    observed.set_applied_version(applied_version);
    if (generation != 0) AddEnded(job, generation, &observed)->set_store_socket_gone(true);
    return Report(1, observed);
  }
};

TEST_F(WildReports, AVersionThatWasNeverSentIsRefused) {
  state_.revision = 1000;
  ASSERT_OK(Report("a", 1, 1));
  EXPECT_THAT(ReportWild(~uint64_t{0}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("applied_version")));
  EXPECT_THAT(ReportWild(1001),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("applied_version")));
  EXPECT_OK(ReportWild(1000));
}

TEST_F(WildReports, AGenerationThatWasNeverPlannedIsRefused) {
  ASSERT_OK(Report("a", 1, 1));
  const common::JobId running = Submit().value();
  const common::JobId waiting = Submit(3).value();
  Rest();
  for (const common::Generation generation : {-1, 2, 200}) {
    EXPECT_THAT(ReportWild(0, running, generation),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(running.value())));
  }
  EXPECT_THAT(ReportWild(0, waiting, 1),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(waiting.value())));
  // A node may have any generation of a job that this coordinator does not know. It will be asked
  // to stop it.
  EXPECT_OK(ReportWild(0, common::JobId("unknown"), 7));
  EXPECT_EQ(Job(running).phase(), v1::STARTING);
}

TEST_F(ObserveTest, ReportsAreCountedAndForgottenWithTheirStreams) {
  v1::NodeObserved observed = Observed("a", 1);
  for (int i = 0; i < 1000; ++i) observed.add_generations()->set_job_id("j");
  ASSERT_OK(Report(1, observed));
  const int64_t bytes = state_.report_bytes;
  EXPECT_GT(bytes, 100'000);
  observed.set_sequence(2);
  ASSERT_OK(Report(1, observed));
  EXPECT_EQ(state_.report_bytes, bytes);
  state_.limits.max_report_bytes = bytes + 1000;
  observed.set_node_id("b");
  observed.set_name("b");
  EXPECT_THAT(Report(2, observed),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("bytes of nodes' reports")));
  // A stream whose first report is refused takes nothing from the stream before it.
  observed.set_node_id("a");
  observed.set_name("a");
  for (int i = 0; i < 1000; ++i) observed.add_generations()->set_job_id("j");
  EXPECT_TRUE(absl::IsResourceExhausted(Report(4, observed)));
  EXPECT_EQ(state_.nodes.at(common::NodeId("a")).session, 1u);
  EXPECT_EQ(state_.nodes.at(common::NodeId("a")).observed.generations_size(), 1000);
  CloseSession(1, common::NodeId("a"), &state_);
  EXPECT_LT(state_.report_bytes, 5'000);
  EXPECT_EQ(state_.nodes.at(common::NodeId("a")).observed.name(), "a");
  EXPECT_OK(Report(3, Observed("b", 1)));
}

// A report without the description, which is that of the report before.
NodeReport Next(uint64_t sequence, News news) { return Partial(Observed("a", sequence), news); }

class PartialReports : public ClusterStateTest {
 protected:
  void SetUp() override {
    v1::NodeObserved first = Observed("a", 1);
    for (int i = 0; i < 8; ++i) first.mutable_inventory()->add_gpus()->set_index(i);
    v1::StoreSocket* const socket = first.add_store_sockets();
    socket->set_id(7);
    socket->set_address("127.0.0.1");
    first.add_addresses("10.0.0.1");
    ASSERT_OK(Report(1, first));
    Rest();
    changes_ = {};
  }

  absl::Status ReportVersion(uint64_t sequence, uint64_t applied_version) {
    NodeReport report = Next(sequence, News::kVersion);
    report.observed.set_applied_version(applied_version);
    return Report(1, report);
  }

  const NodeEntry& Node() { return state_.nodes.at(common::NodeId("a")); }
  bool LedgerIsTouched() { return state_.ledger.changes_at() == absl::InfinitePast(); }
};

TEST_F(PartialReports, TheDescriptionRemains) {
  const int64_t bytes = state_.report_bytes;
  for (uint64_t sequence = 2; sequence < 10; ++sequence) {
    NodeReport report = Next(sequence, News::kState);
    if (sequence % 2 == 0) {
      report.observed.set_refuses_work(std::string(1000, 'x'));
      for (int i = 0; i < 10; ++i) report.observed.add_generations()->set_job_id("j");
    }
    ASSERT_OK(Report(1, report));
    // The bytes are those of the report that is kept.
    EXPECT_NEAR(static_cast<double>(Node().observed_bytes),
                static_cast<double>(SpaceOf(Node().observed)), 100);
    EXPECT_EQ(Node().observed.refuses_work(), report.observed.refuses_work());
    EXPECT_EQ(Node().observed.inventory().gpus_size(), 8);
    EXPECT_EQ(Node().observed.store_sockets(0).id(), 7u);
    EXPECT_EQ(Node().observed.addresses(0), "10.0.0.1");
    EXPECT_EQ(Node().observed.incarnation(), Observed("a", 1).incarnation());
  }
  // Nothing adds up.
  EXPECT_NEAR(static_cast<double>(state_.report_bytes), static_cast<double>(bytes), 100);
  EXPECT_EQ(state_.report_bytes, Node().observed_bytes);
}

TEST_F(PartialReports, OneThatHasNoRoomChangesNothing) {
  state_.limits.max_report_bytes = state_.report_bytes;
  NodeReport report = Next(2, News::kState);
  report.observed.set_refuses_work(std::string(4000, 'x'));
  EXPECT_TRUE(absl::IsResourceExhausted(Report(1, report)));
  EXPECT_EQ(Node().observed.inventory().gpus_size(), 8);
  EXPECT_EQ(Node().observed.refuses_work(), "");
}

TEST_F(PartialReports, OneWithoutNewsOnlyPostponesTheSilence) {
  now_ += absl::Seconds(1);
  ASSERT_OK(Report(1, Next(2, News::kNothing)));
  EXPECT_EQ(Node().last_heard, now_);
  EXPECT_EQ(Node().observed.sequence(), 2u);
  EXPECT_TRUE(changes_.nodes.empty());
  EXPECT_FALSE(LedgerIsTouched());
}

TEST_F(PartialReports, ANewVersionChangesTheOfferOnlyIfItIsAwaited) {
  state_.revision = 5;
  ASSERT_OK(ReportVersion(2, 4));
  EXPECT_EQ(Node().observed.applied_version(), 4u);
  EXPECT_FALSE(LedgerIsTouched());
  state_.nodes.at(common::NodeId("a")).settled_from = 5;
  ASSERT_OK(ReportVersion(3, 5));
  EXPECT_TRUE(LedgerIsTouched());
}

TEST_F(PartialReports, AVersionThatFallsBackChangesTheOffer) {
  state_.revision = 9;
  ASSERT_OK(ReportVersion(2, 9));
  state_.nodes.at(common::NodeId("a")).settled_from = 5;
  ASSERT_OK(ReportVersion(3, 3));
  EXPECT_TRUE(LedgerIsTouched());
}

// A part that was unknown when the node reported it first belongs to another node now, so it is
// dropped from the same report.
TEST_F(PartialReports, APartThatIsDroppedLaterIsNews) {
  ASSERT_OK(Report("b", 2, 1));
  const common::JobId job = Submit().value();
  Rest();
  ASSERT_EQ(Job(job).generations(0).placements(0).node_name(), "a");
  v1::NodeObserved first = Observed("b", 2);
  first.add_generations()->set_job_id(job.value());
  first.mutable_generations(0)->set_generation(1);
  NodeEntry& b = state_.nodes.at(common::NodeId("b"));
  *b.observed.mutable_generations() = first.generations();
  state_.ledger.Update(state_, now_);
  ASSERT_OK(Report(2, Partial(first, News::kNothing)));
  EXPECT_EQ(b.observed.generations_size(), 0);
  EXPECT_TRUE(LedgerIsTouched());
}

TEST_F(PartialReports, TheEndOfASilenceIsNews) {
  now_ = SilentFrom(state_, Node());
  ASSERT_OK(Report(1, Next(2, News::kNothing)));
  EXPECT_TRUE(LedgerIsTouched());
  EXPECT_EQ(changes_.nodes.count(common::NodeId("a")), 1u);
}

TEST_F(ObserveTest, TheNodesAreBounded) {
  state_.limits.max_nodes = 2;
  ASSERT_OK(Report("a", 1, 1));
  ASSERT_OK(Report("b", 2, 1));
  EXPECT_THAT(Report("c", 3, 1), StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("2")));
  CloseSession(1, common::NodeId("a"), &state_);
  EXPECT_OK(Report("c", 3, 1));
  EXPECT_EQ(state_.nodes.count(common::NodeId("a")), 0u);
}

TEST_F(ObserveTest, OfNodesThatLeftTogetherTheOneWithTheLowestIdMakesRoom) {
  state_.limits.max_nodes = 20;
  const auto name = [](SessionId session) {
    return std::string(1, static_cast<char>('a' + session - 1));
  };
  for (SessionId session = 1; session <= 20; ++session) {
    ASSERT_OK(Report(name(session), session, 1));
    CloseSession(session, common::NodeId(name(session)), &state_);
  }
  ASSERT_OK(Report("new", 21, 1));
  EXPECT_FALSE(state_.nodes.contains(common::NodeId("a")));
  ASSERT_OK(Report("newer", 22, 1));
  EXPECT_FALSE(state_.nodes.contains(common::NodeId("b")));
  EXPECT_EQ(state_.nodes.size(), 20u);
}

}  // namespace
}  // namespace accel::coordinator
