// Recover() after every commit of whole schedules is tested in tests/scenarios/recovery_test.cc.
// Here are rows that are damaged, from another time, or from another version.
#include "coordinator/core/recover.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "common/status_matchers.h"
#include "coordinator/core/access/access_rows.h"
#include "coordinator/core/observe.h"
#include "coordinator/core/planner.h"
#include "coordinator/core/records.h"
#include "coordinator/core/requests.h"

namespace accel::coordinator {
namespace {

using ::accel::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kBoot[] = "boot-1";

class RecoverTest : public ::testing::Test {
 protected:
  // Makes the rows of a cluster with one node, a job that starts on it, and a job in the queue.
  RecoverTest() {
    state_ = Recover({}, Limits(), Now(kBoot)).value();
    changes_.cluster = true;
    v1::NodeObserved node;
    node.set_node_id("a");
    node.set_name("a");
    node.set_incarnation("a-1");
    node.set_sequence(1);
    SessionId superseded = 0;
    EXPECT_OK(Observe(1, node, now_, &state_, &changes_, &superseded));
    v1::JobSpec spec;
    spec.add_argv("train");
    spec.set_nodes(1);
    spec.set_time_limit_ms(100'000);
    running_ = SubmitJob("one", spec, wall_, &state_, &changes_).value();
    spec.set_nodes(2);
    queued_ = SubmitJob("two", spec, wall_, &state_, &changes_).value();
    PlanToRest(now_, wall_, &state_, &changes_);
    rows_ = RowsOf(state_, changes_).put;
  }

  Opening Now(const std::string& boot) const { return {now_, wall_, boot, "cluster"}; }

  Row& Find(const std::string& end) {
    return *std::find_if(rows_.begin(), rows_.end(), [&](const Row& row) {
      return row.key.size() >= end.size() &&
             row.key.compare(row.key.size() - end.size(), end.size(), end) == 0;
    });
  }

  absl::Status Refusal() const { return Recover(rows_, Limits(), Now(kBoot)).status(); }

  absl::Time now_ = absl::UnixEpoch() + absl::Hours(2);
  absl::Time wall_ = absl::FromUnixSeconds(1'800'000'000);
  ClusterState state_;
  Changes changes_;
  common::JobId running_;
  common::JobId queued_;
  std::vector<Row> rows_;
};

TEST_F(RecoverTest, SaysWhatItHasFound) {
  const absl::StatusOr<ClusterState> next = Recover(rows_, Limits(), Now(kBoot));
  ASSERT_OK(next);
  EXPECT_EQ(DescribeRecovery(*next), "1 jobs that hold nodes, 1 in the queue, 0 finished, 1 nodes");
  EXPECT_EQ(next->facts.cluster_id, "cluster");
  EXPECT_EQ(next->facts.epoch, 2);
  EXPECT_GT(next->revision, state_.revision + (uint64_t{1} << 39));
}

TEST_F(RecoverTest, ARefusalQuotesKeysSafely) {
  rows_.push_back({"what/\x1b[2J" + std::string(5000, 'x'), ""});
  EXPECT_THAT(Refusal(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("\\x1b[2Jxxx")));
  EXPECT_LE(Refusal().message().size(), 1024u);
}

// The parser keeps numbers that name no phase, and the planner aborts at a step from one.
TEST_F(RecoverTest, AnUnknownPhaseIsRefused) {
  const std::string good = Find(running_.value() + "/state").value;
  v1::StoredJob job;
  ASSERT_TRUE(job.ParseFromString(good));
  job.mutable_job()->set_phase(static_cast<v1::JobPhase>(704));
  Find(running_.value() + "/state").value = job.SerializeAsString();
  EXPECT_THAT(Refusal(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("it has no phase")));
  ASSERT_TRUE(job.ParseFromString(good));
  job.mutable_job()->set_next(static_cast<v1::AfterStop>(99));
  Find(running_.value() + "/state").value = job.SerializeAsString();
  EXPECT_THAT(Refusal(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("with no phase")));
}

// The planner would look for the first of no nodes.
TEST_F(RecoverTest, ASpecOfNoNodesIsRefused) {
  v1::JobSpec spec;
  ASSERT_TRUE(spec.ParseFromString(Find(queued_.value() + "/spec").value));
  spec.set_nodes(0);
  Find(queued_.value() + "/spec").value = spec.SerializeAsString();
  EXPECT_THAT(Refusal(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("is damaged: nodes: ")));
}

// Its successor could not be counted, or would have lower revisions.
TEST_F(RecoverTest, AnImpossibleNumberOfStartsIsRefused) {
  for (const int64_t epoch : {int64_t{-1}, int64_t{1} << 23, INT64_MAX}) {
    v1::StoredCluster cluster;
    ASSERT_TRUE(cluster.ParseFromString(Find("cluster").value));
    cluster.set_epoch(epoch);
    Find("cluster").value = cluster.SerializeAsString();
    EXPECT_THAT(Refusal(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("number of starts")));
  }
}

// Otherwise a job of an ordinary user would run as root at an agent that is root.
TEST_F(RecoverTest, AJobWithoutAnAccountGetsThatOfItsOwner) {
  const auto account_of = [&](const std::string& owner) {
    v1::JobSpec spec;
    EXPECT_TRUE(spec.ParseFromString(Find(running_.value() + "/spec").value));
    spec.set_owner(owner);
    spec.clear_runs_as();
    Find(running_.value() + "/spec").value = spec.SerializeAsString();
    Opening opening = Now(kBoot);
    opening.owner = "root";
    const absl::StatusOr<ClusterState> next = Recover(rows_, Limits(), opening);
    EXPECT_OK(next);
    return next->jobs.at(running_).job.spec().runs_as();
  };
  EXPECT_EQ(account_of("root"), "root") << "the coordinator's own user";
  EXPECT_EQ(account_of("gone"), "");
  EXPECT_EQ(account_of(""), "");
  AccessState access;
  AccessChanges changed;
  for (const auto& [name, account] :
       std::map<std::string, std::string>{{"ann", "ann_smith"}, {"bob", ""}}) {
    v1::Member& member = access.members[{v1::USER_MEMBER, name}];
    member.set_kind(v1::USER_MEMBER);
    member.set_id(name);
    member.set_runs_as(account);
    changed.members.insert({v1::USER_MEMBER, name});
  }
  RowBatch batch;
  AddAccessRows(access, changed, &batch);
  rows_.insert(rows_.end(), batch.put.begin(), batch.put.end());
  EXPECT_EQ(account_of("ann"), "ann_smith");
  EXPECT_EQ(account_of("bob"), "bob");
}

TEST_F(RecoverTest, WithTheSameKernelADeadlineHoldsAsItIs) {
  const absl::Time end_by = state_.jobs.at(running_).end_by;
  ASSERT_EQ(end_by, now_ + absl::Seconds(100));
  now_ += absl::Seconds(60);
  wall_ -= absl::Hours(24 * 365);  // The wall clock was set back, which has no effect.
  const absl::StatusOr<ClusterState> next = Recover(rows_, Limits(), Now(kBoot));
  ASSERT_OK(next);
  EXPECT_EQ(next->jobs.at(running_).end_by, end_by);
}

TEST_F(RecoverTest, AfterARebootADeadlineFollowsTheWallClock) {
  wall_ += absl::Seconds(60);
  now_ = absl::UnixEpoch() + absl::Seconds(5);
  const absl::StatusOr<ClusterState> next = Recover(rows_, Limits(), Now("boot-2"));
  ASSERT_OK(next);
  EXPECT_EQ(next->jobs.at(running_).end_by, now_ + absl::Seconds(40));
}

// The first coordinator after a reboot may die before it has changed the job.
TEST_F(RecoverTest, AfterARebootTimesAreStoredForTheNewClock) {
  wall_ += absl::Seconds(30);
  now_ = absl::UnixEpoch() + absl::Seconds(50);
  Changes changes;
  const absl::StatusOr<ClusterState> first = Recover(rows_, Limits(), Now("boot-2"), &changes);
  ASSERT_OK(first);
  for (const Row& row : RowsOf(*first, changes).put) Find(row.key) = row;
  wall_ += absl::Seconds(10);
  now_ += absl::Seconds(10);
  const absl::StatusOr<ClusterState> second = Recover(rows_, Limits(), Now("boot-2"));
  ASSERT_OK(second);
  EXPECT_EQ(second->jobs.at(running_).end_by, now_ + absl::Seconds(60));
}

TEST_F(RecoverTest, AWallClockThatWasSetBackGivesNoMoreThanTheWholeLimit) {
  wall_ -= absl::Hours(24 * 365);
  now_ = absl::UnixEpoch() + absl::Seconds(5);
  const absl::StatusOr<ClusterState> next = Recover(rows_, Limits(), Now("boot-2"));
  ASSERT_OK(next);
  EXPECT_EQ(next->jobs.at(running_).end_by, now_ + absl::Seconds(100));
}

// Otherwise the job would wait for a year for a rank that never starts, and each of its failures
// would count against its restarts for a year.
TEST_F(RecoverTest, AWallClockThatWasSetBackMakesNoDeadlineAndNoFailureLater) {
  JobEntry& entry = state_.jobs.at(running_);
  entry.failed = {now_, now_};
  entry.history.failures = entry.history.membership_changes = {now_};
  rows_ = RowsOf(state_, changes_).put;
  wall_ -= absl::Hours(24 * 365);
  now_ = absl::UnixEpoch() + absl::Seconds(5);
  const absl::StatusOr<ClusterState> next = Recover(rows_, Limits(), Now("boot-2"));
  ASSERT_OK(next);
  const JobEntry& found = next->jobs.at(running_);
  EXPECT_EQ(found.start_by, now_ + Limits().start_deadline);
  EXPECT_EQ(found.started, now_);
  EXPECT_EQ(found.failed.earliest, now_);
  EXPECT_EQ(found.failed.latest, now_);
  EXPECT_THAT(found.history.failures, ElementsAre(now_));
  EXPECT_THAT(found.history.membership_changes, ElementsAre(now_));
}

TEST_F(RecoverTest, RowsThatDoNotBelongTogetherAreRefused) {
  const std::vector<Row> whole = rows_;
  const auto without = [&](const std::string& end) {
    rows_ = whole;
    rows_.erase(rows_.begin() + (&Find(end) - rows_.data()));
    return Refusal();
  };
  EXPECT_OK(Refusal());
  const std::string job = running_.value();
  EXPECT_THAT(without("cluster"), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("cluster")));
  EXPECT_THAT(without(job + "/spec"),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("the spec of job " + job)));
  EXPECT_THAT(without(job + "/state"),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("the state of job " + job)));
  EXPECT_THAT(without(job + "/generation/0000000001"),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("the newest generation of job")));
  EXPECT_THAT(without("node/a"), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("node a of job")));
}

TEST_F(RecoverTest, ARowThatCannotBeReadIsNamed) {
  const std::vector<Row> whole = rows_;
  for (const Row& row : whole) {
    rows_ = whole;
    Find(row.key).value = "\xff\xff";
    EXPECT_THAT(Refusal(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr(row.key)));
  }
  rows_ = whole;
  rows_.push_back({"no/such/key", ""});
  EXPECT_THAT(Refusal(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("no/such/key")));
  rows_ = whole;
  Find(queued_.value() + "/state").value = Find(running_.value() + "/state").value;
  EXPECT_THAT(Refusal(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("of another job")));
}

TEST_F(RecoverTest, ALaterLayoutIsRefused) {
  v1::StoredCluster cluster;
  ASSERT_TRUE(cluster.ParseFromString(Find("cluster").value));
  cluster.set_schema(kStoreSchema + 1);
  Find("cluster").value = cluster.SerializeAsString();
  EXPECT_THAT(Refusal(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                  HasSubstr("start the version of accel that wrote them")));
}

// Every field of a job is stored in one of its rows. A field that is added to the message and not
// to coordinator/core/records.cc would be lost by a crash.
TEST_F(RecoverTest, EveryFieldOfAJobIsStored) {
  v1::Job& job = state_.jobs.at(running_).job;
  const google::protobuf::Reflection& reflection = *v1::Job::GetReflection();
  for (int i = 0; i < v1::Job::descriptor()->field_count(); ++i) {
    const google::protobuf::FieldDescriptor* field = v1::Job::descriptor()->field(i);
    using Field = google::protobuf::FieldDescriptor;
    if (field->is_repeated()) continue;
    if (field->cpp_type() == Field::CPPTYPE_INT32) reflection.SetInt32(&job, field, 2);
    if (field->cpp_type() == Field::CPPTYPE_INT64) reflection.SetInt64(&job, field, 2);
    if (field->cpp_type() == Field::CPPTYPE_UINT64) reflection.SetUInt64(&job, field, 2);
    if (field->cpp_type() == Field::CPPTYPE_ENUM) reflection.SetEnumValue(&job, field, 2);
    if (field->cpp_type() == Field::CPPTYPE_STRING && field->name() != "job_id") {
      reflection.SetString(&job, field, "text");
    }
  }
  job.mutable_cause()->set_rank(2);
  const absl::StatusOr<ClusterState> next =
      Recover(RowsOf(state_, changes_).put, Limits(), Now(kBoot));
  ASSERT_OK(next);
  EXPECT_EQ(next->jobs.at(running_).job.DebugString(), job.DebugString());
}

}  // namespace
}  // namespace accel::coordinator
